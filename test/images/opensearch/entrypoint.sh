#!/bin/sh
# Runs one OpenSearch node. It becomes process 1, so that a signal to the container reaches it. Arguments are passed on, such
# as -Enode.attr.zone=z1.
#
#   OPENSEARCH_CLUSTER   name of the cluster                                    default opensearch
#   OPENSEARCH_NODE      name of this node                                      default: the host name
#   OPENSEARCH_HOST      address by which other nodes reach this one            default: the host's first
#   OPENSEARCH_SEEDS     names or addresses of nodes, comma separated; none: a node for itself
#   OPENSEARCH_MANAGERS  names of the nodes that form the cluster at first, comma separated
#   OPENSEARCH_ROLES     comma separated; a blank: none, so that it coordinates default: those that OpenSearch gives itself
#   OPENSEARCH_DATA      folder for data and logs; put a volume there           default /data
#   OPENSEARCH_HEAP      default 256m
#   OPENSEARCH_OPTS      more options for java, which win over those below
#
# In an image with the security plugin:
#   OPENSEARCH_SECURITY  default: the plugin is off
#                        "demo": on, with the certificates and users of the plugin's own demonstration, as in the official image
#                        a folder with ca.crt, tls.crt and tls.key below DATA/config: on, with these; 2.x reads no files elsewhere
#   OPENSEARCH_INITIAL_ADMIN_PASSWORD  of the user admin, for "demo"
#   OPENSEARCH_SECURITY_CONFIG         folder with files that replace those of the plugin's configuration, such as internal_users.yml
#   OPENSEARCH_NODES_DN  whose certificates are those of nodes                  default 'CN=node'
# For more give arguments, such as -Eplugins.security.ssl.http.clientauth_mode=REQUIRE.
set -eu
base=$(cd "$(dirname "$0")" && pwd)
data=${OPENSEARCH_DATA:-/data}
heap=${OPENSEARCH_HEAP:-256m}
mkdir -p "$data/config" "$data/data" "$data/logs" "$data/tmp"
cp "$base/etc/log4j2.properties" "$data/config/log4j2.properties"
{
    echo "cluster.name: ${OPENSEARCH_CLUSTER:-opensearch}"
    echo "node.name: ${OPENSEARCH_NODE:-$(hostname)}"
    echo "path.data: $data/data"
    echo "path.logs: $data/logs"
    echo "network.host: 0.0.0.0"
    echo "network.publish_host: ${OPENSEARCH_HOST:-$(hostname -i | cut -d' ' -f1)}"
    # The kernel's limit for memory maps is the machine's, and the disk under a test is shared with everything else.
    echo "node.store.allow_mmap: false"
    echo "cluster.routing.allocation.disk.threshold_enabled: false"
    if [ -n "${OPENSEARCH_SEEDS:-}" ]; then
        echo "discovery.seed_hosts: [$OPENSEARCH_SEEDS]"
        echo "cluster.initial_cluster_manager_nodes: [${OPENSEARCH_MANAGERS:-}]"
    else
        echo "discovery.type: single-node"
    fi
    if [ -n "${OPENSEARCH_ROLES:-}" ]; then echo "node.roles: [$OPENSEARCH_ROLES]"; fi
} >"$data/config/opensearch.yml"

plugin=$base/dist/plugins/opensearch-security
security=$data/config/opensearch-security
if [ -d "$plugin" ]; then
    rm -rf "$security"
    mkdir -p "$security"
    cp "$plugin"/config/*.yml "$security"
    if [ -n "${OPENSEARCH_SECURITY_CONFIG:-}" ]; then cp "$OPENSEARCH_SECURITY_CONFIG"/*.yml "$security"; fi
    case ${OPENSEARCH_SECURITY:-} in
    "") echo "plugins.security.disabled: true" >>"$data/config/opensearch.yml" ;;
    demo)
        mkdir -p "$data/bin"
        ln -sfn "$base/dist/plugins" "$data/plugins" # the installer looks for everything beside the configuration
        ln -sfn "$base/dist/lib" "$data/lib"
        java -Xmx128m -cp "$plugin/*:$base/dist/lib/*" org.opensearch.security.tools.democonfig.Installer \
            "$data/plugins/opensearch-security/tools" -y -i -s >/dev/null
        ;;
    *)
        {
            for layer in transport http; do
                echo "plugins.security.ssl.$layer.pemcert_filepath: $OPENSEARCH_SECURITY/tls.crt"
                echo "plugins.security.ssl.$layer.pemkey_filepath: $OPENSEARCH_SECURITY/tls.key"
                echo "plugins.security.ssl.$layer.pemtrustedcas_filepath: $OPENSEARCH_SECURITY/ca.crt"
            done
            echo "plugins.security.ssl.transport.enforce_hostname_verification: false"
            echo "plugins.security.ssl.http.enabled: true"
            echo "plugins.security.ssl.certificates_hot_reload.enabled: true"
            echo "plugins.security.allow_default_init_securityindex: true"
            echo "plugins.security.nodes_dn: ['${OPENSEARCH_NODES_DN:-CN=node}']"
            echo "plugins.security.restapi.roles_enabled: [all_access, security_rest_api_access]"
            echo "plugins.security.system_indices.enabled: true"
        } >>"$data/config/opensearch.yml"
        ;;
    esac
fi

# A node that others can reach insists on 65,535 open files. Where the machine allows fewer, it is told so all the same.
ulimit -n "$(ulimit -Hn)"
limit=$(ulimit -n)
if [ "$limit" != unlimited ] && [ "$limit" -lt 65535 ]; then
    echo "only $limit open files are allowed here; OpenSearch is told 65536" >&2
    export LD_PRELOAD="$base/lib/nofile.so"
fi

if [ -d "$base/dist/agent" ]; then
    guard=-javaagent:agent/opensearch-agent.jar locale=CLDR # from 3.0 on
else
    guard=-Djava.security.manager=allow locale=COMPAT
fi
cd "$base/dist"
# A restarted pod has a new address under its old name, so names are not remembered for long.
# shellcheck disable=SC2086 # options are split on purpose
exec java -Xms"$heap" -Xmx"$heap" -Xss1m -XX:+UseG1GC -XX:TieredStopAtLevel=1 -XX:+ExitOnOutOfMemoryError \
    -Djava.io.tmpdir="$data/tmp" -XX:ErrorFile="$data/logs/crash.log" \
    -Dopensearch.networkaddress.cache.ttl=2 -Dopensearch.networkaddress.cache.negative.ttl=0 \
    -Djava.awt.headless=true -Dfile.encoding=UTF-8 -Djna.nosys=true \
    -Dio.netty.noUnsafe=true -Dio.netty.noKeySetOptimization=true \
    -Dio.netty.recycler.maxCapacityPerThread=0 -Dio.netty.allocator.numDirectArenas=0 \
    -Dlog4j.shutdownHookEnabled=false -Dlog4j2.disable.jmx=true \
    $guard -Djava.locale.providers=SPI,$locale ${OPENSEARCH_OPTS:-} \
    -Dopensearch.path.home="$base/dist" -Dopensearch.path.conf="$data/config" \
    -Dopensearch.distribution.type=zip -Dopensearch.bundled_jdk=false \
    -cp "$base/dist/lib/*" org.opensearch.bootstrap.OpenSearch "$@"
