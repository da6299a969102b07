-- The terms of a message's text in order, made by perdure.memory.terms; null until they are made.
-- To an array, pairs of characters and "HM48213" are words like all others, which no parser of
-- PostgreSQL's is to split again.
alter table perdure.messages add column terms text[] collate "C";
create index messages_without_terms on perdure.messages (chain_id) where terms is null;

-- Each term behind its chain: one index serves all conversations, and none pays for the others.
create function perdure.search_keys(chain_id bigint, terms text[]) returns text[]
    language sql immutable parallel safe
    return array(select chain_id || ':' || term from unnest(terms) as term);

-- Without the list of pending entries, which every search would read from end to end.
create index messages_terms on perdure.messages
    using gin (perdure.search_keys(chain_id, terms)) with (fastupdate = off);
