-- A chain is one life of a conversation: a workflow and everything it was continued as. A
-- fork, a reset and a closed conversation that starts again are chains with a parent, whose
-- past they share up to three marks, all included: a message, a turn and a ledger row.
create table perdure.chains (
    id bigint generated always as identity primary key,
    namespace text not null,
    conversation text not null,
    chain text not null,
    parent_id bigint references perdure.chains,
    parent_until_seq bigint,
    parent_until_turn bigint,
    parent_until_row bigint,
    created_at timestamptz not null default now(),
    closed_at timestamptz,
    snapshot text,
    unique (namespace, conversation, chain),
    check (num_nulls(parent_id, parent_until_seq, parent_until_turn, parent_until_row) in (0, 4)),
    check ((closed_at is null) = (snapshot is null))
);
create index chains_parent on perdure.chains (parent_id) where parent_id is not null;

-- JSON stands as text: jsonb would reorder its keys and rewrite its numbers.
create table perdure.messages (
    chain_id bigint not null references perdure.chains,
    seq bigint not null check (seq >= 0),
    role text not null,
    content text not null,
    at timestamptz not null,
    tokens bigint,
    pinned boolean not null,
    failed boolean not null,
    text text not null,
    sha256 text not null,
    primary key (chain_id, seq)
);

create table perdure.observations (
    chain_id bigint not null references perdure.chains,
    id text not null,
    level integer not null,
    content text not null,
    facts text[] not null,
    start_time timestamptz not null,
    end_time timestamptz not null,
    first_seq bigint not null,
    last_seq bigint not null,
    message_count bigint not null,
    original_tokens bigint not null,
    compressed_tokens bigint not null,
    created_at timestamptz not null,
    sources text[] not null,
    method text not null,
    model text not null,
    prompt_version text not null,
    identity text not null,
    sha256 text not null,
    primary key (chain_id, id)
);
create index observations_range on perdure.observations (chain_id, first_seq);

-- `entry` is a ledger row without its summary's text and facts, which stand in observations.
create table perdure.ledger (
    chain_id bigint not null references perdure.chains,
    n bigint not null check (n >= 0),
    observation_id text not null,
    entry text not null,
    sha256 text not null,
    primary key (chain_id, n)
);
create index ledger_observation on perdure.ledger (chain_id, observation_id);

create table perdure.replies (
    chain_id bigint not null references perdure.chains,
    turn bigint not null check (turn >= 0),
    reply text not null,
    sha256 text not null,
    primary key (chain_id, turn)
);

create table perdure.blobs (
    sha256 text primary key,
    media_type text not null,
    size bigint not null,
    data bytea not null
);

-- By conversation, not by chain: a client stores a blob before a chain has begun.
create table perdure.blob_links (
    namespace text not null,
    conversation text not null,
    sha256 text not null references perdure.blobs,
    primary key (namespace, conversation, sha256)
);
create index blob_links_blob on perdure.blob_links (sha256);
