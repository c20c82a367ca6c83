#!/usr/bin/env bash
# run.sh all|unit|siege|solr|opensearch|mysql|foundationdb-models|foundationdb-real|e2e|nightly: the tests, with the time of each part.
#
# With CI=true, what cannot run is a failure instead of a skip: the tests ask
# ROLLCALL_REQUIRE for what must be there. ROLLCALL_OPENSEARCH_ALL=1 runs the
# OpenSearch adapter on more clusters than one of the newest version, ROLLCALL_SOLR_ALL=1
# that of Solr on each version and the upgrade without security, and ROLLCALL_MYSQL_ALL=1 breaks handovers of MySQL and MariaDB in every way at every
# boundary (more than an hour); without it what takes minutes runs on MariaDB only.
# foundationdb-real needs ROLLCALL_FDB_HOME, a folder with fdbserver and fdbcli; ROLLCALL_FDB_RUN chooses some of its tests over
# loopback, and '^$' none of them, which leaves those in pods.
# ROLLCALL_SIEGE_ALL=1 sends all that strangers and tenants can send, for half an hour, and
# then against programs without their defences; without it one attack of each kind is
# sent for some seconds, in five minutes.
set -euo pipefail
cd "$(dirname "$0")/.."

part=${1:-all}
if [ "${CI:-}" = true ]; then
  export ROLLCALL_REQUIRE=${ROLLCALL_REQUIRE:-solr,opensearch,mysql,mariadb,chromium,cluster,siege}
fi

# All but the race detector runs with what the programs are built with (Makefile), so
# that what they link in is compiled once; vet has been run with the detector.
export CGO_ENABLED=0
plain="-trimpath -tags grpcnotrace"
quiet="$plain -vet=off"

timed() { # timed NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
}

unit() {
  # What needs a server or a cluster is required further down, where it is there.
  # One thread for each package: with several, the race detector itself crashes
  # now and then in synctest (golang/go#78156). One package more than there are
  # processors: adapters wait most of the time.
  # Pure packages start no goroutine (test/arrows), so there is nothing to race, and some do little but
  # start programs, or run once more what others run with it: they run without. Tests that the detector makes take minutes, or that are about
  # figures, run a part of themselves or nothing with it (test/race), so their packages run again.
  local without='/coordinator/(model|policy|rollout)(/|$)|/coordinator/sim/rehearsal$|/cmd/rollcall$|/deploy/manifests$|/test/(arrows|built|cmd/[a-z]*|corpus|decoders|documents|fdbsim/.*|security|sim/.*)$'
  local alone='^./(agent|cmd/rollcall-coordinator)$'
  timed "unit tests with the race detector" env -u ROLLCALL_REQUIRE CGO_ENABLED=1 go test -race -cpu 1 -p $(($(nproc) + 1)) -timeout 25m $(go list ./... | grep -v -E -e '/test/(e2e/suite|apiserver)' -e "$without")
  timed "unit tests of pure packages, programs and simulators" env -u ROLLCALL_REQUIRE go test $plain $(go list ./... | grep -E "$without")
  timed "all that the race detector had a part of" env -u ROLLCALL_REQUIRE go test $quiet -count=1 $(grep -rl --include=*_test.go 'rollcall/test/race"' ./agent ./cmd ./coordinator ./engines | xargs -n1 dirname | sort -u | grep -v -E -e "$without" -e "$alone")
  timed "what needs a processor for itself: memory and rates" go test $quiet -p 1 -count=1 -run 'TestReadersWhoReadNothing|TestFloodLeavesTheLeaderItsTurns' ./agent ./cmd/rollcall-coordinator
  # The recordings are beside the checkout, and no part of it: not cached, and required where they are.
  timed "FoundationDB, adapter and simulator, against recordings of a real one" env ROLLCALL_FDB_RECORDINGS_REQUIRED="${ROLLCALL_FDB_RECORDINGS_REQUIRED:-$([ ! -d ../shared/foundationdb ] || echo 1)}" go test $quiet -v -count=1 -run 'Record|RealServer' ./test/fdbsim/recordings ./engines/foundationdb
  timed "the policy and its second implementation" env ROLLCALL_TWIN=100000 go test $quiet -count=1 -run Twin ./coordinator/policy
  timed "each incident of other systems comes back without what prevents it" go run $plain ./test/cmd/mutate -list test/cmd/mutate/incidents.txt
  timed "all orders in which two leaders can act" go run $plain ./test/sim/search/cmd
  timed "rollouts in a simulated world" go run $plain ./test/sim/cmd -seeds 2000
  timed "the same world twice" go run $plain ./test/sim/cmd -worlds old -seeds 30 -twice 30
  timed "unit tests of the local cluster" go -C test/cluster test ./...
  timed "the dashboard with a recording of a rollout" env -u ROLLCALL_REQUIRE go -C test/dashboard test -count=1 ./... # not cached: what it reads is outside its module
  timed "the licences of what is linked in" go -C test/licences test -count=1 ./...
  timed "the page in a real browser, where there is one" env -u ROLLCALL_REQUIRE CGO_ENABLED=1 go -C test/browser test -race -count=1 .
}

images() {
  timed "images" bin/rollcall-images build
}

homes() {
  ROLLCALL_SOLR_HOME=$(bin/rollcall-images solr-home)
  ROLLCALL_OPENSEARCH_HOME=$(bin/rollcall-images opensearch-home)
  export ROLLCALL_SOLR_HOME ROLLCALL_OPENSEARCH_HOME
  sql_homes
}

sql_homes() {
  ROLLCALL_MYSQL_HOME=$(bin/rollcall-images mysql-home --all)
  ROLLCALL_MARIADB_HOME=$(bin/rollcall-images mariadb-home --all)
  export ROLLCALL_MYSQL_HOME ROLLCALL_MARIADB_HOME
}

# What each of them runs against real servers; a server is waited for most of the
# time, so three packages share the machine.
solr_packages="./engines/solr/... ./engines/zookeeper"
opensearch_packages=./engines/opensearch
[ -z "${ROLLCALL_OPENSEARCH_ALL:-}" ] || opensearch_packages+=/...
mysql_packages="./engines/mysql/... ./engines/galera ./test/e2e/manifests"

real() { # real PACKAGES_AT_ONCE PACKAGE...
  local at_once=$1
  shift
  timed "adapters against real servers: $*" go test $quiet -p "$at_once" -count=1 -timeout 40m -run Real "$@"
}

# Who asks for it by its name is told what it lacks: it needs root, and control groups
# with a memory limit.
siege() {
  local programs
  programs=$(bin/rollcall-cluster programs)
  export ROLLCALL_CLUSTER_PROGRAMS=$programs
  timed "the siege: what strangers and tenants send, at the chart's memory limit" go test $quiet -count=1 -v -timeout 70m ./test/siege
  [ -z "${ROLLCALL_SIEGE_ALL:-}" ] || timed "each attack of the siege on programs without their defence" env -u ROLLCALL_SIEGE_ALL go run $plain ./test/cmd/mutate -list test/cmd/mutate/siege.txt
}

# No registry that CI may use has FoundationDB's server, so the programs are somebody's own.
fdb_home() {
  local program want="a folder with fdbserver and fdbcli of one version, such as FDB=/tmp/fdb"
  if [ -z "${ROLLCALL_FDB_HOME:-}" ]; then
    echo "make test-foundationdb: FDB is not set: name $want" >&2
    exit 2
  fi
  for program in fdbserver fdbcli; do
    if [ ! -x "$ROLLCALL_FDB_HOME/$program" ]; then
      echo "make test-foundationdb: FDB=$ROLLCALL_FDB_HOME has no program $program: name $want" >&2
      exit 2
    fi
  done
}

e2e() {
  timed "the local cluster's life, crashes included" env ROLLCALL_CLUSTER_TEST=1 go -C test/cluster test -count=1 -timeout 40m -run Lifecycle ./local
  timed "what each token may do, on a real API server" go test $quiet -count=1 ./test/apiserver
  timed "real cluster" env ROLLCALL_E2E=1 go test $quiet -count=1 -v -timeout 90m ./test/e2e/suite/...
}

case $part in
unit) unit ;;
siege)
  export ROLLCALL_REQUIRE=${ROLLCALL_REQUIRE:+$ROLLCALL_REQUIRE,}siege
  siege
  ;;
e2e) e2e ;;
all)
  # One to a line: joined by && the shell would overlook failures inside of them.
  unit
  images
  homes
  timed "the page in a real browser" go -C test/browser test -count=1 .
  timed "the dashboard in a real browser" go -C test/dashboard test -count=1 -run RealBrowser .
  real 3 $solr_packages $opensearch_packages $mysql_packages
  siege
  e2e
  ;;
mysql)
  sql_homes
  real 1 $mysql_packages
  [ -z "${ROLLCALL_MYSQL_ALL:-}" ] || timed "MySQL and MariaDB: every break at every boundary" go test $quiet -count=1 -v -timeout 150m -run 'TestRealBreaks|TestRealFaults|TestRealDisk|TestRealObstacles|TestRealConformance|TestRealGroupHandover|TestOneBreak|TestTwoBreaks|TestLatePromotion' ./engines/mysql -args -breaks.all
  ;;
foundationdb-models)
  timed "FoundationDB: what may go, against the truth" go test $quiet -count=1 -v -timeout 60m -run TestWhatIfAgainstTheTruth ./engines/foundationdb -args -models 100000
  ;;
foundationdb-real)
  fdb_home
  timed "FoundationDB: the adapter and the policy over real servers" go test $quiet -count=1 -v -timeout 150m -run "${ROLLCALL_FDB_RUN:-.}" ./test/fdbreal
  timed "what the real cluster needs" make deps build
  timed "FoundationDB: real servers in pods" env ROLLCALL_E2E=1 go test $quiet -count=1 -v -timeout 60m -run TestFoundationDBOfAFolder ./test/e2e/suite
  ;;
nightly)
  images
  ROLLCALL_OPENSEARCH_ALL=1 bash "$0" opensearch
  ROLLCALL_SOLR_ALL=1 bash "$0" solr
  ROLLCALL_MYSQL_ALL=1 bash "$0" mysql
  bash "$0" foundationdb-models
  ROLLCALL_SIEGE_ALL=1 bash "$0" siege
  ROLLCALL_E2E_MEASURE=1 bash "$0" e2e
  ;;
solr)
  images
  homes
  real 1 $solr_packages
  ;;
opensearch)
  images
  homes
  real 1 $opensearch_packages
  ;;
*) echo "usage: run.sh all|unit|siege|solr|opensearch|mysql|foundationdb-models|foundationdb-real|e2e|nightly" >&2; exit 2 ;;
esac
echo "=== $part: all passed in $SECONDS s"
