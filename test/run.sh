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

# One set of flags, that of the programs (Makefile), for all that is compiled here and in tests, so
# that it is compiled once. What vet has looked at once needs no second look.
export CGO_ENABLED=0 GOFLAGS="-trimpath -tags=grpcnotrace"
quiet="-vet=off"

timed() { # timed NAME COMMAND...
  local name=$1 start=$SECONDS
  shift
  echo "=== $name"
  "$@"
  echo "=== $name: $((SECONDS - start)) s"
}

# concurrent prints the packages under the given folders whose own code starts goroutines or locks something.
concurrent() {
  grep -rlE --include=*.go --exclude=*_test.go '^\s*go (func|[a-z])|\.Go\(|sync\.(Mutex|RWMutex|Map|Cond)|atomic\.|AfterFunc\(' "$@" |
    xargs -n1 dirname | sort -u | grep -v '/sim/' | xargs go list
}

# raced MINUTES PACKAGE... runs tests with the race detector. One thread for each package: with several, the
# detector itself crashes now and then in synctest (golang/go#78156). One package more than there are
# processors: they wait for much of the time. What needs a server is required elsewhere.
raced() {
  local minutes=$1
  shift
  env -u ROLLCALL_REQUIRE CGO_ENABLED=1 go test -race -cpu 1 -p $(($(nproc) + 1)) -timeout "${minutes}m" "$@"
}

# parted runs once more what the race detector makes take minutes, or what is about figures: with it,
# tests skip that (test/race). Where ROLLCALL_SOME is set they still try a part of long lists of cases.
# Given are the packages that have run with it.
parted() {
  local using alone='/agent$|/cmd/rollcall-coordinator$'
  using=$(grep -rl --include=*_test.go 'rollcall/test/race"' ./agent ./cmd ./coordinator ./deploy ./engines ./test | xargs -n1 dirname | sort -u | xargs go list)
  timed "all that the race detector had a part of" env -u ROLLCALL_REQUIRE go test $quiet -count=1 -timeout 40m $(grep -x -F "$1" <<<"$using" | grep -v -E "$alone")
}

unit() {
  # What needs a server or a cluster is required further down, where it is there.
  # The race detector watches the packages that start goroutines or lock something; those of the adapters
  # at night.
  local watched
  watched=$(concurrent ./agent ./cmd ./coordinator ./engines/sql ./engines/web ./proto)
  timed "unit tests with the race detector" raced 25 $watched
  timed "unit tests without it" env -u ROLLCALL_REQUIRE ROLLCALL_SOME=1 go test -timeout 25m $( (go list ./... | grep -v -E '/test/(e2e/suite|apiserver)'; echo "$watched"; echo "$watched") | sort | uniq -u)
  ROLLCALL_SOME=1 parted "$watched"
  timed "what needs a processor for itself: memory and rates" go test $quiet -p 1 -count=1 -run 'TestReadersWhoReadNothing|TestFloodLeavesTheLeaderItsTurns|TestGrpcurl' ./agent ./cmd/rollcall-coordinator
  # The recordings are beside the checkout, and no part of it: not cached, and required where they are.
  timed "FoundationDB, adapter and simulator, against recordings of a real one" env ROLLCALL_FDB_RECORDINGS_REQUIRED="${ROLLCALL_FDB_RECORDINGS_REQUIRED:-$([ ! -d ../shared/foundationdb ] || echo 1)}" go test $quiet -v -count=1 -run 'Record|RealServer' ./test/fdbsim/recordings ./engines/foundationdb
  timed "the policy and its second implementation" env ROLLCALL_TWIN=${ROLLCALL_TWIN:-20000} go test $quiet -count=1 -run Twin ./coordinator/policy
  timed "each incident of other systems comes back without what prevents it" go run ./test/cmd/mutate -list test/cmd/mutate/incidents.txt
  timed "all orders in which two leaders can act" go run ./test/sim/search/cmd
  timed "rollouts in a simulated world" go run ./test/sim/cmd -seeds 1000
  timed "the same world twice" go run ./test/sim/cmd -worlds old -seeds 30 -twice 30
  timed "unit tests of the local cluster" go -C test/cluster test ./...
  timed "the dashboard with a recording of a rollout, and in a real browser where there is one" go -C test/dashboard test -count=1 ./... # not cached: what it reads is outside its module
  timed "the licences of what is linked in" go -C test/licences test -count=1 ./...
  timed "the page in a real browser, where there is one" go -C test/browser test -count=1 .
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

# What each commit leaves to the night, as each is minutes of two processors: rollouts, which the real
# cluster has on each commit, and servers that are broken or that refuse in every way.
at_night='TestRealSecuredRollout|TestRealRestarts|TestRealBrokenReplica|TestRealBusy|TestRealClientCertificates|TestRealUpgrade|TestRealMissing|TestRealSecurityMistakes|TestRealSwitchoverBroken|TestRealBreaks|TestRealFaults|TestRealCandidateDies|TestRealObstacles'

real() { # real PACKAGES_AT_ONCE TESTS_TO_LEAVE_OUT PACKAGE...
  local at_once=$1 skip=$2
  shift 2
  [ -z "$skip" ] || echo "=== not on each commit, but nightly: ${skip//|/, }"
  timed "adapters against real servers: $*" go test $quiet -p "$at_once" -count=1 -timeout 40m -run Real ${skip:+-skip "^($skip)$"} "$@"
}

# Who asks for it by its name is told what it lacks: it needs root, and control groups
# with a memory limit.
siege() {
  local programs
  programs=$(bin/rollcall-cluster programs)
  export ROLLCALL_CLUSTER_PROGRAMS=$programs
  timed "the siege: what strangers and tenants send, at the chart's memory limit" go test $quiet -count=1 -v -timeout 70m ./test/siege
  [ -z "${ROLLCALL_SIEGE_ALL:-}" ] || timed "each attack of the siege on programs without their defence" env -u ROLLCALL_SIEGE_ALL go run ./test/cmd/mutate -list test/cmd/mutate/siege.txt
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
  [ -z "${ROLLCALL_E2E_MEASURE:-}" ] || timed "the local cluster's life, crashes included" env ROLLCALL_CLUSTER_TEST=1 go -C test/cluster test -count=1 -timeout 40m -run Lifecycle ./local
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
  real 3 "$at_night" $solr_packages $opensearch_packages $mysql_packages
  siege
  e2e
  ;;
mysql)
  sql_homes
  real 1 '' $mysql_packages
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
  timed "the policy and its second implementation" env ROLLCALL_TWIN=1000000 go test $quiet -count=1 -timeout 2h -run Twin ./coordinator/policy
  timed "rollouts in a simulated world" go run ./test/sim/cmd -seeds 100000
  timed "adapters with the race detector" raced 60 $(concurrent ./engines)
  parted "$(go list ./...)"
  ROLLCALL_SIEGE_ALL=1 bash "$0" siege
  ROLLCALL_E2E_MEASURE=1 bash "$0" e2e
  ;;
solr)
  images
  homes
  real 1 '' $solr_packages
  ;;
opensearch)
  images
  homes
  real 1 '' $opensearch_packages
  ;;
*) echo "usage: run.sh all|unit|siege|solr|opensearch|mysql|foundationdb-models|foundationdb-real|e2e|nightly" >&2; exit 2 ;;
esac
echo "=== $part: all passed in $SECONDS s"
