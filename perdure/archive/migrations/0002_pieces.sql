-- What replies say while they are being said, for whoever watches. The words that count come with
-- the workflow, so this may be lost in a crash, and a conversation keeps that of one turn only.
create unlogged table perdure.pieces (
    id bigint generated always as identity primary key,
    namespace text not null,
    conversation text not null,
    message_id text not null,
    turn bigint not null,
    step bigint not null,
    attempt bigint not null,
    start bigint not null,
    text text not null
);
create index pieces_conversation on perdure.pieces (namespace, conversation, id);
