"""M5: jobs that have run, and their checkpoints."""

from __future__ import annotations

from typing import Final

from millstream.error_catalogue.explanation import Explanation, Group
from millstream.errors import Code

JOB: Final = Group(
    "M5: jobs and checkpoints",
    "A job that failed has lost nothing: started again, it continues from its last finished batch.",
    {
        Code.JOB_FAILED: Explanation(
            "job that failed",
            cause="The job ended for an external reason, such as a full disk, a process that was killed, or "
            "a broker that went away.",
            fix="Remove the reason that the detail names and start the job again. `--verbose` shows all that Spark "
            "said, and so does spark.log in the checkpoint folder.",
            example="job_failed",
        ),
        Code.UNDECODABLE_MESSAGE: Explanation(
            "message that cannot be decoded",
            cause="A message of a source topic is not what the table's format and columns say: its key, or its value.",
            fix="Correct what is produced, or the columns. With 'scan.dead-letter.topic' such messages go to "
            "that topic and the job continues; formats that have the option 'ignore-parse-errors' can skip them.",
            example="undecodable_message",
        ),
        Code.CHECKPOINT_MISMATCH: Explanation(
            "checkpoint that does not fit",
            cause="The folder holds the state of another query or of another version, is damaged, or cannot be used.",
            fix="Start over with --fresh, which forgets the old state, or keep it and name another folder with "
            "--checkpoint.",
            example="checkpoint_of_another_query",
        ),
        Code.NULL_IN_KEY: Explanation(
            "NULL for a NOT NULL column",
            cause="The query gave NULL for a column that is NOT NULL, as columns of a primary key are.",
            fix="Filter such rows with WHERE … IS NOT NULL, or replace them with COALESCE. "
            "SET 'table.exec.sink.not-null-enforcer' = 'DROP' drops them.",
            example="null_in_key",
        ),
        Code.CHECKPOINT_IN_USE: Explanation(
            "checkpoint in use",
            cause="Another process runs jobs in the same checkpoint folder.",
            fix="Stop that process, or give this one its own folder with --checkpoint.",
            example="checkpoint_in_use",
        ),
        Code.EXPRESSION_FAILED: Explanation(
            "expression that failed on a row",
            cause="A value cannot be processed by an expression of the query: a text that is not a number, "
            "a division by zero, a result too large for its type.",
            fix="Use TRY_CAST, NULLIF(divisor, 0) or a larger type, or filter the row.",
            example="expression_failed",
        ),
        Code.UNWRITABLE_ROW: Explanation(
            "row that cannot be written",
            cause="The row names a topic that is not one of its table's, or a timestamp before 1970, or the table's "
            "partitioner chose a partition that the topic does not have, or failed.",
            fix="Filter such rows, or correct what the query gives for the metadata column, or the partitioner.",
            example="unwritable_row",
        ),
        Code.TAKEN_OVER: Explanation(
            "job that another run has replaced",
            cause="A table is written exactly once, and a later start has claimed its transactions: the same job was "
            "started elsewhere, or another job has the same 'sink.transactional-id-prefix'. Kafka takes nothing more "
            "from this run.",
            fix="Leave the later run to it. Two jobs that are to run side by side need prefixes of their own.",
            example="taken_over",
        ),
        Code.DELIVERY_UNCERTAIN: Explanation(
            "batch that may be written already",
            cause="A table is written exactly once, the job ended in the middle of a batch, and what tells which part "
            "of the batch is in the topic cannot be found or does not fit: Kafka has forgotten it, the prefix or the "
            "cluster is another one, or the checkpoint is an old copy.",
            fix="Do what the hint says. To write the batch again run once with 'sink.delivery-guarantee' = "
            "'at-least-once'; to compute everything again start over with --fresh.",
            example="delivery_uncertain",
        ),
        Code.STATE_TOO_LARGE: Explanation(
            "state that has grown too large",
            cause="The state of the job takes up more bytes than 'millstream.state.max-size' allows. The job has ended "
            "after a finished batch, and nothing is lost.",
            fix="Raise the setting and start the job again, or let it keep less: rows that expire after "
            "'table.exec.state.ttl', fewer keys, fewer columns. `millstream state` shows the size of each table.",
            example="state_too_large",
        ),
    },
)
