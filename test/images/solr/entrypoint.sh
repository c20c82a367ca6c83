#!/bin/sh
# Runs one SolrCloud node, or one ZooKeeper server. Both become process 1, so that a signal to the container reaches them.
#
# solr (the default):
#   ZK_HOST      where ZooKeeper is, with an optional chroot                    required
#   SOLR_HOST    the name by which other nodes reach this one                   default: the host name with domain
#   SOLR_PORT    default 8983
#   SOLR_HEAP    default 256m
#   SOLR_DATA    folder for cores; put a volume there                           default /data
#   SOLR_OPTS    more options for java, which win over those below
#   SOLR_SECURITY_FILE  becomes /security.json in ZooKeeper unless there is one already
#   SOLR_SSL_KEY_STORE, SOLR_SSL_KEY_STORE_PASSWORD, SOLR_SSL_TRUST_STORE, SOLR_SSL_TRUST_STORE_PASSWORD (PKCS12)
#   SOLR_SSL_NEED_CLIENT_AUTH   true or false
#
# zookeeper:
#   ZK_DATA      default /data
#   ZK_HEAP      default 64m
#   ZK_SERVERS   for an ensemble: host names, blank separated; this host's position is its id
set -eu
base=/opt/solr
fast="-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError"

solr() {
    : "${ZK_HOST:?where ZooKeeper is, such as zk-0.zk:2181}"
    port=${SOLR_PORT:-8983}
    data=${SOLR_DATA:-/data}
    heap=${SOLR_HEAP:-256m}
    mkdir -p "$data/home" "$data/logs"
    cp "$base/classes/solr.xml" "$data/home/solr.xml"
    tls=
    if [ -n "${SOLR_SSL_KEY_STORE:-}" ]; then
        tls="-Dsolr.jetty.keystore=$SOLR_SSL_KEY_STORE -Dsolr.jetty.keystore.password=${SOLR_SSL_KEY_STORE_PASSWORD:-}
            -Dsolr.jetty.truststore=${SOLR_SSL_TRUST_STORE:-$SOLR_SSL_KEY_STORE}
            -Dsolr.jetty.truststore.password=${SOLR_SSL_TRUST_STORE_PASSWORD:-${SOLR_SSL_KEY_STORE_PASSWORD:-}}
            -Dsolr.jetty.ssl.needClientAuth=${SOLR_SSL_NEED_CLIENT_AUTH:-false}
            -Djavax.net.ssl.keyStore=$SOLR_SSL_KEY_STORE -Djavax.net.ssl.keyStorePassword=${SOLR_SSL_KEY_STORE_PASSWORD:-}
            -Djavax.net.ssl.trustStore=${SOLR_SSL_TRUST_STORE:-$SOLR_SSL_KEY_STORE}
            -Djavax.net.ssl.trustStorePassword=${SOLR_SSL_TRUST_STORE_PASSWORD:-${SOLR_SSL_KEY_STORE_PASSWORD:-}}"
    fi
    # An index is read by the major version that wrote it and by the next one.
    lucene=9.12
    case "${SOLR_VERSION:-}" in 8.*) lucene=8.11 ;; esac
    # A restarted pod has a new address under its old name, so names are not remembered for long.
    # shellcheck disable=SC2086 # options are split on purpose
    exec java -Xms$heap -Xmx$heap $fast \
        -Dsun.net.inetaddr.ttl=2 -Dsun.net.inetaddr.negative.ttl=0 \
        -DzkHost="$ZK_HOST" -Dhost="${SOLR_HOST:-$(hostname -f)}" \
        -Dsolr.jetty.host=0.0.0.0 -Djetty.port="$port" \
        -Dsolr.solr.home="$data/home" -Dsolr.log.dir="$data/logs" -Dsolr.install.dir="$base" \
        -Dsolr.default.confdir="$base/conf" -Dsolr.configset.default.confdir="$base/conf" -Drollcall.lucene=$lucene \
        -Dsolr.security.file="${SOLR_SECURITY_FILE:-}" \
        $tls ${SOLR_OPTS:-} -cp "$base/classes:$base/etc:$base/lib/*" dev.rollcall.solr.SolrNode
}

zookeeper() {
    data=${ZK_DATA:-/data}
    mkdir -p "$data"
    config=/tmp/zoo.cfg
    cat >"$config" <<EOF
dataDir=$data
clientPort=2181
tickTime=2000
initLimit=10
syncLimit=5
maxClientCnxns=0
admin.enableServer=false
4lw.commands.whitelist=*
autopurge.purgeInterval=1
EOF
    id=0
    for server in ${ZK_SERVERS:-}; do
        id=$((id + 1))
        echo "server.$id=$server:2888:3888" >>"$config"
        case "$server" in "$(hostname)"|"$(hostname)".*) echo "$id" >"$data/myid" ;; esac
    done
    # shellcheck disable=SC2086
    exec java -Xmx${ZK_HEAP:-64m} $fast -cp "$base/etc:$base/lib/*" \
        org.apache.zookeeper.server.quorum.QuorumPeerMain "$config"
}

case "${1:-solr}" in
solr) solr ;;
zookeeper) zookeeper ;;
*) exec "$@" ;;
esac
