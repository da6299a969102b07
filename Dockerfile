# The worker of perdure. It needs a Temporal and a PostgreSQL: see docker-compose.yml.

FROM python:3.13.16-slim-trixie AS build
ENV PIP_NO_CACHE_DIR=1 PIP_DISABLE_PIP_VERSION_CHECK=1
WORKDIR /src
COPY pyproject.toml constraints.txt README.md LICENSE worker.py ./
COPY perdure perdure
COPY workflows workflows
COPY activities activities
RUN python -m pip wheel --no-deps --wheel-dir /wheels . \
    && python -m venv /opt/perdure \
    && /opt/perdure/bin/python -m pip install \
        --only-binary :all: --constraint constraints.txt /wheels/*.whl

FROM python:3.13.16-slim-trixie
RUN useradd --uid 10001 --user-group --create-home perdure
COPY --from=build /opt/perdure /opt/perdure
ENV PATH=/opt/perdure/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
WORKDIR /home/perdure
# By number, so that an orchestrator can see that it is not root.
USER 10001:10001
STOPSIGNAL SIGTERM
CMD ["perdure", "worker"]
