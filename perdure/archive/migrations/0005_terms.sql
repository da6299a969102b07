-- A message is saved with its terms; none waits for them.
alter table perdure.messages alter column terms set not null;
drop index perdure.messages_without_terms;
