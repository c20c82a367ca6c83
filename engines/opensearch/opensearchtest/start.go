package opensearchtest

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"
)

// Start starts the node without waiting.
func (n *Node) Start() {
	c := n.cluster
	for _, dir := range []string{"config", "data", "logs", "tmp"} {
		require.NoError(c.t, os.MkdirAll(filepath.Join(n.home, dir), 0o755))
	}
	logging, err := os.ReadFile(filepath.Join(c.home, "etc", "log4j2.properties"))
	require.NoError(c.t, err)
	n.write("log4j2.properties", string(logging))
	n.write("opensearch.yml", n.settings())
	if c.options.Security != nil {
		n.configure()
	}
	program, err := java(c.home, n.Version)
	require.NoError(c.t, err)
	n.starts++
	log := filepath.Join(c.dir, fmt.Sprintf("%s-start-%d.log", n.Name, n.starts))
	dist := filepath.Join(c.home, n.Version)
	env := []string{"OPENSEARCH_JAVA_OPTS=", "LIBFFI_TMPDIR=" + filepath.Join(n.home, "tmp")}
	n.process = c.run(log, dist, program, env, arguments(n.Version, dist, n.home))
}

func (n *Node) write(name, text string) {
	require.NoError(n.cluster.t, os.WriteFile(filepath.Join(n.home, "config", name), []byte(text), 0o644))
}

// settings is opensearch.yml: on loopback, with a full disk no obstacle.
func (n *Node) settings() string {
	c := n.cluster
	var seeds, managers []string
	for _, other := range c.Nodes {
		seeds = append(seeds, fmt.Sprintf("127.0.0.1:%d", other.transport))
		if other.roles == "" || strings.Contains(other.roles, "cluster_manager") {
			managers = append(managers, other.Name)
		}
	}
	all := map[string]string{
		"cluster.name":                          "opensearchtest",
		"node.name":                             n.Name,
		"path.data":                             filepath.Join(n.home, "data"),
		"path.logs":                             filepath.Join(n.home, "logs"),
		"network.host":                          "127.0.0.1",
		"http.port":                             fmt.Sprint(n.Port),
		"transport.port":                        fmt.Sprint(n.transport),
		"discovery.seed_hosts":                  "[" + strings.Join(seeds, ", ") + "]",
		"cluster.initial_cluster_manager_nodes": "[" + strings.Join(managers, ", ") + "]",
		"node.store.allow_mmap":                 "false",
		"node.processors":                       "1",
		"cluster.routing.allocation.disk.threshold_enabled": "false",
	}
	if n.roles != "" {
		all["node.roles"] = "[" + n.roles + "]"
	}
	switch {
	case c.options.Security != nil:
		c.options.Security.settings(all)
	case slices.Contains(SecuredVersions, n.Version):
		all["plugins.security.disabled"] = "true"
	}
	maps.Copy(all, c.options.Settings)
	var text strings.Builder
	for _, key := range slices.Sorted(maps.Keys(all)) {
		fmt.Fprintf(&text, "%s: %s\n", key, all[key])
	}
	return text.String()
}

// arguments returns the arguments for java that the scripts of the distribution would make. Those
// scripts run a second Java each time.
func arguments(version, dist, home string) []string {
	args := []string{
		"-Xms256m", "-Xmx256m", "-Xss1m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-XX:MaxDirectMemorySize=128m",
		"-Djava.io.tmpdir=" + filepath.Join(home, "tmp"), "-XX:ErrorFile=" + filepath.Join(home, "logs", "crash.log"),
		"-Djava.awt.headless=true", "-Dfile.encoding=UTF-8", "-Djna.nosys=true",
		"-Dio.netty.noUnsafe=true", "-Dio.netty.noKeySetOptimization=true",
		"-Dio.netty.recycler.maxCapacityPerThread=0", "-Dio.netty.allocator.numDirectArenas=0",
		"-Dlog4j.shutdownHookEnabled=false", "-Dlog4j2.disable.jmx=true",
	}
	if strings.HasPrefix(version, "2.") {
		args = append(args, "-Djava.security.manager=allow", "-Djava.locale.providers=SPI,COMPAT")
	} else {
		args = append(args, "-javaagent:agent/opensearch-agent.jar", "-Djava.locale.providers=SPI,CLDR")
	}
	return append(args,
		"-Dopensearch.path.home="+dist, "-Dopensearch.path.conf="+filepath.Join(home, "config"),
		"-Dopensearch.distribution.type=zip", "-Dopensearch.bundled_jdk=false",
		"-cp", filepath.Join(dist, "lib", "*"), "org.opensearch.bootstrap.OpenSearch")
}
