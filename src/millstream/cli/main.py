"""The commands and their arguments. Each command is implemented in a module of its own, loaded when it runs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from millstream import __version__

app = typer.Typer(
    name="millstream",
    help="Runs Flink-SQL-style scripts over Kafka tables as Spark Structured Streaming jobs.",
    epilog="""Examples:

\b
  millstream demo                                                  see it work, with nothing prepared
  millstream broker                                                a Kafka broker to try things on
  millstream check pageviews.sql                                   all problems of a script, in half a second
  millstream run pageviews.sql --param brokers=localhost:9092      run a script of your own""",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


Script = Annotated[Path, typer.Argument(help="The SQL script.", metavar="SCRIPT.sql")]
Parameters = Annotated[
    list[str] | None,
    typer.Option(
        "--param",
        help="A value for ${NAME} in the script; without =VALUE it is read from the environment. Repeatable.",
        metavar="NAME[=VALUE]",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", help="A setting, like SET in the script; repeatable.", metavar="KEY=VALUE"),
]
Checkpoint = Annotated[
    str | None,
    typer.Option(help="Where the jobs keep their state.", show_default=".millstream/SCRIPT", metavar="DIR"),
]
Brokers = Annotated[
    str,
    typer.Option(help="Where a Kafka cluster is reached.", envvar="MILLSTREAM_BROKERS", metavar="HOST:PORT,…"),
]
Properties = Annotated[
    list[str] | None,
    typer.Option(
        "--property", help="A property of Kafka's clients, e.g. security.protocol=SSL; repeatable.", metavar="KEY=VALUE"
    ),
]
Topic = Annotated[str, typer.Argument(help="The topic.", metavar="TOPIC")]
Registry = Annotated[str | None, typer.Option(help="The address of the schema registry, to read Avro.", metavar="URL")]
Verbose = Annotated[bool, typer.Option("--verbose", help="Show the cause of an error.")]


class Output(StrEnum):
    auto = "auto"
    plain = "plain"
    json = "json"


def _show_version(show: bool) -> None:  # noqa: FBT001
    if show:
        typer.echo(f"millstream {__version__}")
        raise typer.Exit


@app.callback()
def _millstream(
    *,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit."),
    ] = False,
) -> None:
    pass


@app.command(
    epilog="""Examples:

\b
  millstream run pageviews.sql
  millstream run pageviews.sql --param brokers=localhost:9092 --drain
  millstream run pageviews.sql --set parallelism.default=4 --output json | jq .rows_in
  millstream run pageviews.sql --fresh        forget what an earlier run had counted"""
)
def run(
    *,
    script: Script,
    drain: Annotated[
        bool, typer.Option("--drain", help="Process everything that is in the topics now, then exit.")
    ] = False,
    checkpoint: Checkpoint = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget an earlier run and start over.")] = False,
    param: Parameters = None,
    set_: Settings = None,
    master: Annotated[
        str | None, typer.Option(help="Spark's master.", show_default="local, all cores", metavar="URL")
    ] = None,
    output: Annotated[
        Output,
        typer.Option(help="auto: live in a terminal, plain lines in a pipe. json: one object per batch."),
    ] = Output.auto,
    verbose: Verbose = False,
) -> None:
    """Run a script: INSERT and SELECT as streaming jobs, SHOW, DESCRIBE and EXPLAIN as answers.

    Without --drain it runs until Ctrl-C or SIGTERM, which lets the current batch finish. Started again, it resumes
    where it stopped. Exit code 0: ended as requested; 1: a job failed; 2: the script or an argument is wrong.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.run import RunRequest, run_script

    request = RunRequest(
        script=script,
        drain=drain,
        checkpoint=checkpoint,
        fresh=fresh,
        parameters=tuple(param or ()),
        settings=tuple(set_ or ()),
        master=master,
        output=output.value,
    )
    raise typer.Exit(run_guarded(lambda: run_script(request), verbose=verbose))


@app.command(
    epilog="""Examples:

\b
  millstream check pageviews.sql
  millstream check pageviews.sql --json | jq .errors"""
)
def check(
    *,
    script: Script,
    param: Parameters = None,
    set_: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="The findings as one JSON object.")] = False,
    verbose: Verbose = False,
) -> None:
    """Report all problems of a script, without Spark or a broker.

    Tables that no query uses are checked too, unless they have no options or others are LIKE them. Exit code 0: no
    problems; 2: problems, each with its place and a hint.
    """
    from millstream.cli.check import CheckRequest, check_script
    from millstream.cli.guard import run_guarded

    request = CheckRequest(script, tuple(param or ()), tuple(set_ or ()), json)
    raise typer.Exit(run_guarded(lambda: check_script(request), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream explain pageviews.sql"""
)
def explain(
    *,
    script: Script,
    param: Parameters = None,
    set_: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="The plans as one JSON object.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show what each job of a script does, step by step, without Spark or a broker.

    Each step shows the kinds of change that it produces (I, UB, UA, D) and their key.
    """
    from millstream.cli.check import CheckRequest, explain_script
    from millstream.cli.guard import run_guarded

    request = CheckRequest(script, tuple(param or ()), tuple(set_ or ()), json)
    raise typer.Exit(run_guarded(lambda: explain_script(request), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream state pageviews.sql
  millstream state pageviews.sql --json | jq .bytes"""
)
def state(
    *,
    script: Script,
    checkpoint: Checkpoint = None,
    param: Parameters = None,
    set_: Settings = None,
    json: Annotated[bool, typer.Option("--json", help="The sizes as one JSON object.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show how large the state of each operator is, without Spark or a broker.

    The jobs may be running or stopped; the sizes are those after the last finished batch. Exit code 0: shown; 1: there
    is no state to show, or it is damaged; 2: the script or an argument is wrong, or no job of the script keeps state.
    """
    from millstream.cli.check import CheckRequest
    from millstream.cli.guard import run_guarded
    from millstream.cli.state import show_state

    request = CheckRequest(script, tuple(param or ()), tuple(set_ or ()), json)
    raise typer.Exit(run_guarded(lambda: show_state(request, checkpoint), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream savepoint .millstream/pageviews before-the-change
  millstream run pageviews.sql --checkpoint before-the-change"""
)
def savepoint(
    *,
    checkpoint: Annotated[str, typer.Argument(help="Where the jobs keep their state.", metavar="CHECKPOINT")],
    to: Annotated[str, typer.Argument(help="A folder that does not exist yet.", metavar="TO")],
    verbose: Verbose = False,
) -> None:
    """Copy the checkpoint of stopped jobs, to try out a change to their script on the copy.

    Refused while they run. Exit code 0: copied; 1: not copied.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.savepoint import make_savepoint

    raise typer.Exit(run_guarded(lambda: make_savepoint(checkpoint, to), verbose=verbose))


@app.command(
    epilog="""Examples:

\b
  millstream options
  millstream options upsert-kafka
  millstream options json"""
)
def options(
    *,
    name: Annotated[
        str | None, typer.Argument(help="A connector or a format; without it, all are listed.", metavar="NAME")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The options as JSON.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show the options of a connector or a format."""
    from millstream.cli.guard import run_guarded
    from millstream.cli.options import show_options

    raise typer.Exit(run_guarded(lambda: show_options(name, as_json=json), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream demo
  millstream demo --rows 1000000 --seconds 30"""
)
def demo(
    *,
    rows: Annotated[int, typer.Option(help="How many page views to produce.", min=1)] = 200_000,
    seconds: Annotated[int, typer.Option(help="In how many seconds.", min=0)] = 15,
    verbose: Verbose = False,
) -> None:
    """Count page views per region on a real Kafka, live, and check the result.

    Starts a broker in a temporary folder, produces page views, runs the example script on them, shows the growing
    table, then compares it with what was produced. Exit code 0: equal; 1: different. Everything is removed afterwards.
    """
    from millstream.cli.demo import run_demo
    from millstream.cli.guard import run_guarded

    raise typer.Exit(run_guarded(lambda: run_demo(rows, seconds), verbose=verbose))


@app.command(
    epilog="""Examples:

\b
  millstream broker
  millstream broker --port 19092 --data /var/tmp/kafka --partitions 4"""
)
def broker(
    *,
    port: Annotated[
        int, typer.Option(help="Where clients connect; 0 lets the system choose.", min=0, max=65535)
    ] = 9092,
    data: Annotated[Path, typer.Option(help="Where topics are stored; reused if it exists.", metavar="DIR")] = Path(
        ".millstream/broker-data"
    ),
    partitions: Annotated[int, typer.Option(help="Partitions of automatically created topics.", min=1)] = 1,
    verbose: Verbose = False,
) -> None:
    """Run a Kafka broker on this machine, for trying things out.

    It is Apache Kafka itself, with one node. It reports when it is ready; Ctrl-C or SIGTERM stops it and keeps its
    data.
    """
    from millstream.cli.broker import run_broker
    from millstream.cli.guard import run_guarded

    raise typer.Exit(run_guarded(lambda: run_broker(port, data, partitions), verbose=verbose))


@app.command(
    epilog="""Examples:

\b
  millstream topics
  millstream topics --brokers kafka:9092 --json | jq -r '.topics[].topic'"""
)
def topics(
    *,
    brokers: Brokers = "localhost:9092",
    property_: Properties = None,
    json: Annotated[bool, typer.Option("--json", help="The topics as one JSON object.")] = False,
    verbose: Verbose = False,
) -> None:
    """List the topics of a cluster, with their partitions and about how many messages they have.

    Messages are counted by offsets; compaction and transactions leave gaps.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.topics import ClusterRequest, show_topics

    request = ClusterRequest(brokers, tuple(property_ or ()))
    raise typer.Exit(run_guarded(lambda: show_topics(request, as_json=json), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream describe pageviews
  millstream describe pageviews --json | jq '.groups[] | {group, lag}'"""
)
def describe(
    *,
    topic: Topic,
    brokers: Brokers = "localhost:9092",
    property_: Properties = None,
    json: Annotated[bool, typer.Option("--json", help="The description as one JSON object.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show the partitions of a topic, its retention and compaction, and how far each group has read it."""
    from millstream.cli.guard import run_guarded
    from millstream.cli.topics import ClusterRequest, show_topic

    request = ClusterRequest(brokers, tuple(property_ or ()))
    raise typer.Exit(run_guarded(lambda: show_topic(request, topic, as_json=json), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream peek pageviews                                   the newest messages
  millstream peek pageviews -n 100 --where "user_id = 7"      the newest ones of a user
  millstream peek pageviews --from 10m --follow               the last ten minutes, and what comes
  millstream peek orders --registry http://localhost:8081 --json | jq .value"""
)
def peek(
    *,
    topic: Topic,
    brokers: Brokers = "localhost:9092",
    property_: Properties = None,
    from_: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="earliest, latest, an offset (1200), an age (10m, 2h, 3d) or a time (2026-01-31T12:00).",
            show_default="the newest messages",
            metavar="PLACE",
        ),
    ] = None,
    number: Annotated[
        int | None,
        typer.Option("-n", help="At most so many messages.", min=1, show_default="10; all with --follow and --from"),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with messages that arrive.")] = False,
    where: Annotated[
        str | None,
        typer.Option(help="A condition on the columns that are shown, in SQL.", metavar="CONDITION"),
    ] = None,
    registry: Registry = None,
    json: Annotated[bool, typer.Option("--json", help="A JSON object per message.")] = False,
    verbose: Verbose = False,
) -> None:
    """Show messages of a topic: JSON and Avro by their fields, text as it is, other bytes in hexadecimal.

    Nothing is committed, so no group's progress changes. Messages of unfinished transactions are left out.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.peek import PeekRequest
    from millstream.cli.peek import peek as show_messages
    from millstream.cli.topics import ClusterRequest

    request = PeekRequest(
        ClusterRequest(brokers, tuple(property_ or ())),
        topic,
        start=from_,
        count=number,
        follow=follow,
        where=where,
        registry=registry,
        as_json=json,
    )
    raise typer.Exit(run_guarded(lambda: show_messages(request), verbose=verbose, as_json=json))


@app.command(
    epilog="""Examples:

\b
  millstream infer pageviews
  millstream infer orders --registry http://localhost:8081 -n 10000 > orders.sql"""
)
def infer(
    *,
    topic: Topic,
    brokers: Brokers = "localhost:9092",
    property_: Properties = None,
    number: Annotated[int, typer.Option("-n", help="How many of the newest messages to look at.", min=1)] = 1000,
    registry: Registry = None,
    name: Annotated[
        str | None, typer.Option(help="The name of the table.", show_default="the topic's", metavar="NAME")
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write a CREATE TABLE that reads a topic, from a sample of its messages.

    Comments say what the sample leaves in doubt. The output is a script: check it, complete it, and run it.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.infer import infer as write_table_of
    from millstream.cli.topics import ClusterRequest

    request = ClusterRequest(brokers, tuple(property_ or ()))
    raise typer.Exit(run_guarded(lambda: write_table_of(request, topic, number, registry, name), verbose=verbose))


@app.command(
    epilog="""Examples:

\b
  millstream produce orders < orders.jsonl
  echo '{"id":1,"amount":12.5}' | millstream produce orders --key id"""
)
def produce(
    *,
    topic: Topic,
    brokers: Brokers = "localhost:9092",
    property_: Properties = None,
    key: Annotated[
        str | None,
        typer.Option(help="Fields of each JSON object that become the key; several as JSON.", metavar="FIELD,…"),
    ] = None,
    verbose: Verbose = False,
) -> None:
    """Write each line of standard input as a message of a topic.

    Messages with equal keys go to the same partition, the one that Kafka's own clients choose.
    """
    from millstream.cli.guard import run_guarded
    from millstream.cli.produce import produce as write_lines
    from millstream.cli.topics import ClusterRequest

    request = ClusterRequest(brokers, tuple(property_ or ()))
    raise typer.Exit(run_guarded(lambda: write_lines(request, topic, key), verbose=verbose))


def main() -> None:
    app(prog_name="millstream")


if __name__ == "__main__":
    main()
