"""Secrets are nowhere to be read."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.catalog.secrets import JAVA_PATTERN, MASK, is_secret, mask, mask_all, without_secrets_of
from millstream.connectors.kafka import kafka_connector as kafka
from millstream.connectors.kafka import upsert_connector as upsert_kafka
from millstream.errors import Code, ScriptError
from millstream.formats.registry import FORMATS
from millstream.plan.program import JobPlan, compile_script
from millstream.secrets import conceal
from millstream.source import SourceText
from tests.declaring import KAFKA, declare, problems, source

if TYPE_CHECKING:
    from millstream.connectors.declaration import ConnectorDeclaration

SECRET = [
    "properties.sasl.jaas.config",
    "connector.properties.sasl.jaas.config",
    "properties.ssl.key.password",
    "properties.ssl.keystore.password",
    "properties.ssl.truststore.password",
    "properties.ssl.keystore.key",
    "properties.ssl.keystore.certificate.chain",
    "properties.ssl.truststore.certificates",
    "properties.sasl.oauthbearer.client.credentials.client.secret",
    "properties.basic.auth.user.info",
    "value.avro-confluent.basic-auth.user-info",
    "avro-confluent.bearer-auth.token",
    "value.avro-confluent.ssl.keystore.password",
    "properties.client.key.pem",
    "spark.hadoop.fs.s3a.secret.key",
    "PROPERTIES.SSL.KEY.PASSWORD",
    "properties.ssl.key.passphrase",
    "spark.hadoop.fs.s3a.access.key",
    "spark.hadoop.fs.azure.account.key.shop.dfs.core.windows.net",
    "spark.hadoop.fs.azure.sas.box.shop.blob.core.windows.net",
    "json.pass",
    "avro-confluent.basic.auth",
]
MISTYPED = ["properties.ssl.key.pasword", "properties.ssl.keystore.passwrd", "pasword", "ssl.key.pasphrase"]
SECRET_PARAMETERS = ["KAFKA_PASS", "DB_PASS", "dbpass", "KEYSTORE_PW", "SIGNING_KEY", "jwt"]
OPEN = [
    "topic",
    "properties.bootstrap.servers",
    "properties.group.id",
    "key.format",
    "properties.security.protocol",
    "properties.sasl.mechanism",
    "properties.sasl.oauthbearer.token.endpoint.url",
    "properties.ssl.keystore.location",
    "properties.ssl.keystore.type",
    "sink.transactional-id-prefix",
    "properties.sasl.oauthbearer.jwt.retriever.class",
    "spark.io.encryption.keySizeBits",
    "scan.bypass",
    "security.delegation.passport",
    "key.fields",
]


PARAMETERS = {
    "SECRET": "tiger",
    "password": "tiger",
    "ADDRESS": "http://me:tiger@registry:8081",
    "KAFKA_PASS": "tiger",
    "TOKEN_ADDRESS": "http://registry:8081?access_token=tiger#x",
    "QUOTED": f"http://me:a' tiger \"{'x' * 600}@registry:8081",
}


@pytest.mark.parametrize("key", [*SECRET, *MISTYPED, *SECRET_PARAMETERS])
def test_secret(key: str) -> None:
    [entry] = declare({key: "tiger"}).options
    assert is_secret(key)
    assert mask(entry) == MASK


@pytest.mark.parametrize("key", OPEN)
def test_open(key: str) -> None:
    [entry] = declare({key: "tiger"}).options
    assert mask(entry) == "tiger"


def test_credentials_in_an_address_are_masked() -> None:
    [entry] = declare({"avro-confluent.url": "https://me:tiger@registry:8081"}).options
    assert mask(entry) == f"https://me:{MASK}@registry:8081"


def test_with_clause_is_shown_without_secrets() -> None:
    entries = mask_all(declare({"topic": "t", "properties.ssl.key.password": "tiger"}).options)
    assert [(entry.key, entry.value) for entry in entries] == [("topic", "t"), ("properties.ssl.key.password", MASK)]


@given(
    st.text(st.characters(exclude_characters="'-/"), max_size=30),
    st.text(st.sampled_from("tiger;=\"\n''"), max_size=20).map(lambda value: value.replace("'", "''")),
    st.sampled_from(SECRET),
    st.sampled_from(
        ["=", " = ", "\n=\n", " ", " /* x */ = ", "=/* it's */", " --, 'a' =\n = --)\n--'\n", "/***/=/* / * */\n"]
    ),
)
def test_nothing_but_the_secret_is_hidden(before: str, value: str, key: str, between: str) -> None:
    shown = conceal(f"{before}'{key}'{between}'{value}', 'topic' = 'seen'")
    assert shown.endswith(f"'{key}'{between}'{MASK if value else ''}', 'topic' = 'seen'")


@pytest.mark.parametrize(
    "options",
    [
        "'properties.ssl.key.password' = 'tiger', 'properties.ssl.key.password' = 'tiger'",
        "'ssl.key.password' = 'tiger'",
        "'properties.ssl.key.pasword' = 'x', 'basic-auth.user-info' = 'me:tiger'",
        "'properties.ssl.key.password' = 'tiger",
        "'properties.ssl.key.password' 'tiger'",
        "'properties.ssl.key.password' = tiger",
        "'properties.ssl.key.password' = the tiger, 'a' = 'b'",
        "'properties.ssl.key.password' = the-tiger",
        "'properties.ssl.key.password' tiger",
        "'properties.ssl.key.password' /* x */ = 'tiger'",
        "'properties.ssl.key.password' -- x\n = /* y */ -- z\n 'tiger'",
        "'properties.ssl.key.password' /* x */ 'tiger'",
        "'properties.ssl.key.password' = ('tiger')",
        "'properties.ssl.key.password' = x'tiger'",
        "'properties.ssl.key.password' = 'ti' 'tiger'",
        "'properties.ssl.key.password' = 'ti' /* x */ 'tiger', 'a' = 'b'",
        "'ssl.key.passphrase' = 'tiger'",
        "'the password' = 'tiger'",
        "'scan.startup.mode' = '${password}'",
        "'scan.startup.mode' = '${SECRET}', 'properties.ssl.key.password' = '${SECRET}'",
        "'scan.startup.mode' = '${ADDRESS}'",
        "'scan.startup.mode' = '${QUOTED}'",
        "'scan.startup.mode' = 'http://me:${SECRET}@registry'",
        "'properties.ssl.key.password' = ${SECRET}",
        "'properties.ssl.key.password' ${SECRET}",
        f"'properties.ssl.key.password' {'tiger' * 20}",
        "'properties.ssl.key.password' = \"tiger\"",
        "\"properties.ssl.key.password\" = 'tiger'",
        "properties.ssl.key.password = 'tiger'",
        "'two words'='x','properties.ssl.key.password'='tiger'",
        "'avro-confluent.url'='http://me:tiger@registry:8081'",
        "'avro-confluent.url'='http://tiger@registry:8081'",
        "'avro-confluent.properties'='a:b,basic.auth.user.info:me:tiger'",
        "'properties.ssl.key.pasword'='tiger'",
        "'json.pass'='tiger'",
        "'avro-confluent.basic.auth'='me:tiger'",
        "`properties.ssl.key.password` = 'tiger'",
        "`password` = 'tiger'",
        "password = 'tiger'",
        "'avro-confluent.url'='http://registry:8081/a?x=1&token=tiger'",
        "'scan.startup.mode'='http://registry:8081/a?sig=tiger'",
        "'scan.startup.mode' = '${KAFKA_PASS}'",
        "'scan.startup.mode' = '${TOKEN_ADDRESS}'",
        "'topic' = 'x, 'properties.ssl.key.password' = tiger",
    ],
)
def test_errors_do_not_show_it(options: str) -> None:
    script = f"CREATE TABLE t (a INT) WITH ('connector' = 'kafka', {options}); INSERT INTO t SELECT a FROM t;"
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", script), PARAMETERS, {})
    assert "tiger" not in str(caught.value)
    assert "tiger" not in str(caught.value.as_json())


@pytest.mark.parametrize(
    "statement",
    ["SET 'spark.password' tiger;", "SET password = 'tiger';", "SET password = tiger;", "SET `a.pw`='tiger'"],
)
def test_errors_of_settings_do_not_show_it(statement: str) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", statement), {}, {})
    assert "tiger" not in f"{caught.value} {caught.value.as_json()}"


HEADER = "CREATE TABLE t (a INT, s STRING, m MAP<STRING, STRING>) WITH ('connector' = 'datagen');"


@pytest.mark.parametrize(
    "query",
    [
        "SELECT a FROM t WHERE 'secret' = m['k'] AND nosuch = 1;",
        "SELECT m['token'], nosuch FROM t;",
        "SELECT m['token'], CASE WHEN s = 'token' THEN 1 END, nosuch FROM t;",
        "SELECT a FROM t WHERE `s` = 'nosuch' AND nosuch = 1;",
        "SELECT nosuch AS `token` FROM t; SELECT a FROM t WHERE `token` = 'nosuch';",
        "-- to do: set 'properties.ssl.key.password' =\nSELECT nosuch FROM t;",
        "/* 'properties.ssl.key.password' */ SELECT nosuch FROM t;",
        "SELECT nosuch FROM t; SET 'a.password' = nosuch;",
    ],
)
def test_ordinary_words_of_a_query_are_shown(query: str) -> None:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", HEADER + query), {}, {})
    assert 'column "nosuch"' in str(caught.value)


def test_words_of_an_unquoted_secret_are_hidden_in_its_own_statement_only() -> None:
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"{HEADER} SELECT nosuch FROM t;\nSET 'a.password' = a nosuch;"), {}, {})
    column, syntax = caught.value.diagnostics
    assert "nosuch" in column.render()
    assert "nosuch" not in syntax.render()


def test_comments_keep_what_stands_behind_them() -> None:
    text = "-- set 'a.password' = tiger\nSELECT 1 /* 'b.password' = */ + c, m['token'], d"
    assert conceal(text) == text.replace("tiger", MASK)


def test_value_of_a_secret_option_is_not_quoted() -> None:
    found = problems(source, declare({**KAFKA, "properties.ssl.key.password": "tiger", "scan.startup.mode": "x"}))
    assert [problem.code for problem in found] == [Code.INVALID_OPTION_VALUE]
    assert "tiger" not in found[0].render()


@pytest.mark.parametrize("connector", [kafka.DECLARATION, upsert_kafka.DECLARATION])
def test_what_is_declared_a_secret_is_masked(connector: ConnectorDeclaration) -> None:
    declared = (*connector.options, *(option for made in FORMATS.values() for option in made.options))
    secret = [option for option in declared if option.is_secret]
    assert {"basic-auth.user-info", "bearer-auth.token", "properties"} <= {option.key for option in secret}
    for option in secret:
        [entry] = declare({f"value.avro-confluent.{option.key}": "basic.auth.user.info:me:tiger"}).options
        assert "tiger" not in mask(entry)


@pytest.mark.parametrize("value", ["ftp://me:tiger@registry", "http://tiger@registry:8081, https://me:tiger@other"])
def test_an_address_from_outside_is_quoted_without_credentials(value: str) -> None:
    script = "CREATE TABLE t (a INT) WITH ('connector' = 'kafka', 'topic' = 't', 'format' = 'json', "
    script += "'properties.bootstrap.servers' = '${ADDRESS}', 'scan.startup.mode' = '${ADDRESS}');"
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"{script} INSERT INTO t SELECT a FROM t;"), {"ADDRESS": value}, {})
    assert "registry" in str(caught.value)
    assert "tiger" not in str(caught.value)
    assert "tiger" not in str(caught.value.as_json())


def test_the_words_of_others_are_cleared_of_a_tables_secrets() -> None:
    jaas = 'x.PlainLoginModule required username="ann" password="ti\\"ger";'
    table = declare({"properties.sasl.jaas.config": jaas, "avro-confluent.url": "http://me:lion@registry"})
    masked = without_secrets_of([table], f'{jaas} ti"ger for ann at http://me:lion@registry')
    assert masked == f"{MASK} {MASK} for ann at http://me:{MASK}@registry"


@pytest.mark.parametrize(("keys", "expected"), [(SECRET, True), (OPEN, False)])
def test_java_hides_the_same(keys: list[str], expected: bool) -> None:  # noqa: FBT001
    assert {key for key in keys if bool(re.search(JAVA_PATTERN, key)) is not expected} <= {
        "properties.sasl.oauthbearer.token.endpoint.url"
    }


@pytest.mark.parametrize("name", ["password", "ADDRESS", "QUOTED"])
@pytest.mark.parametrize(
    "statements",
    [
        "SET 'spark.hadoop.fs.s3a.secret.key' = '${NAME}'; SET;",
        "SET 'pipeline.name' = '${NAME}'; SET;",
        "CREATE VIEW v AS SELECT '${NAME}' AS b FROM t; SHOW CREATE VIEW v;",
        "EXPLAIN SELECT a FROM t WHERE CAST(a AS STRING) = '${NAME}';",
        "CREATE TABLE u (a INT, b AS '${NAME}') COMMENT '${NAME}' WITH ('x.y' = '${NAME}'); SHOW CREATE TABLE u;",
        "CREATE TABLE u (a INT, b AS '${NAME}') COMMENT '${NAME}' WITH ('x.y' = '${NAME}'); DESCRIBE u;",
        "SELECT a FROM t WHERE CAST(a AS STRING) = '${NAME}';",
    ],
)
def test_answers_do_not_show_it(statements: str, name: str) -> None:
    script = f"CREATE TABLE t (a INT) WITH ('connector' = 'datagen'); {statements.replace('NAME', name)}"
    program = compile_script(SourceText("s", script), PARAMETERS, {})
    answers = [step.explain() if isinstance(step, JobPlan) else str(step) for step in program.steps]
    assert answers
    assert "tiger" not in f"{answers} {program.notices}"
    assert MASK in "".join(answers)


def test_settings_are_cleared_from_the_words_of_others() -> None:
    settings = [("spark.hadoop.fs.s3a.secret.key", "tiger"), ("spark.proxy", "http://me:lion@proxy"), ("a", "open")]
    assert without_secrets_of([], "tiger lion open", settings) == f"{MASK} {MASK} open"


def test_a_user_name_is_no_secret() -> None:
    jaas = 'x.PlainLoginModule required username="${user}" password="${SECRET}";'
    script = f"CREATE TABLE reports (a INT) WITH ('connector' = 'kafk', 'properties.sasl.jaas.config' = '{jaas}');"
    with pytest.raises(ScriptError) as caught:
        compile_script(SourceText("s", f"{script} SELECT tiger FROM reports;"), {**PARAMETERS, "user": "reports"}, {})
    assert '"reports"' in str(caught.value)


def test_values_behind_a_secret_are_seen() -> None:
    text = "WITH ('a.password' = 'tiger', 'topic' = 'seen') /*+ OPTIONS('b.password' = 'tiger') */ WHERE c = 'd'"
    assert conceal(text) == text.replace("tiger", MASK)
