-- What changed the context beside messages and compactions, in order; `turn` is that which an
-- event has ended.
create table perdure.events (
    chain_id bigint not null references perdure.chains,
    n bigint not null check (n >= 0),
    turn bigint,
    event text not null,
    sha256 text not null,
    primary key (chain_id, n)
);
create index events_turn on perdure.events (chain_id, turn) where turn is not null;

-- A fourth mark of what a chain shares with its parent; nothing, where nothing was recorded.
alter table perdure.chains add column parent_until_event bigint;
update perdure.chains set parent_until_event = -1 where parent_id is not null;
alter table perdure.chains add check ((parent_id is null) = (parent_until_event is null));
