package security

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/cmd/rollcall/doctor/database"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

// judged is the posture of a pod with this container, in words.
func judged(t *testing.T, engine model.Engine, container, pod string, configs ...string) string {
	t.Helper()
	set := &appsv1.StatefulSet{}
	set.Namespace = "prod"
	require.NoError(t, yaml.UnmarshalStrict([]byte(pod), &set.Spec.Template.Spec))
	var c corev1.Container
	require.NoError(t, yaml.UnmarshalStrict([]byte(container), &c))
	c.Name = "db"
	set.Spec.Template.Spec.Containers = append(set.Spec.Template.Spec.Containers, c)
	var o database.Objects
	for _, config := range configs {
		var m corev1.ConfigMap
		require.NoError(t, yaml.UnmarshalStrict([]byte(config), &m))
		o.ConfigMaps = append(o.ConfigMaps, m)
	}
	p, known := Of(engine, set, o)
	require.True(t, known)
	words := []string{p.TLS.State.String(), p.Login.State.String(), p.Client.State.String()}
	if p.Demo {
		words = append(words, "demo")
	}
	for _, a := range []Answer{p.TLS, p.Login, p.Client} {
		require.NotEmpty(t, a.Why, "each answer says what tells it")
	}
	return strings.Join(words, " ") + ": " + strings.Join([]string{p.TLS.Why, p.Login.Why, p.Client.Why}, " | ")
}

const official = "image: opensearchproject/opensearch:2.19.4\n"

func configured(lines string) string {
	return "metadata: {name: conf}\ndata:\n  opensearch.yml: |\n    cluster.name: logs\n    " + strings.ReplaceAll(lines, "\n", "\n    ")
}

const copied = "volumes: [{name: conf, configMap: {name: conf}}]\ninitContainers: [{name: copy, volumeMounts: [{name: conf, mountPath: /from/opensearch.yml, subPath: opensearch.yml}]}]"

// TestOpenSearch checks each way in which the security plugin is turned on and off. TLS, login and
// client certificates, in that order.
func TestOpenSearch(t *testing.T) {
	for name, tt := range map[string]struct{ container, pod, config, want string }{
		"the image's own defaults":                     {official, "", "", "on on off demo: the image opensearchproject/opensearch:2.19.4 has its security plugin on by default, and nothing sets DISABLE_SECURITY_PLUGIN"},
		"the defaults of a mirror":                     {"image: mirror.example/opensearchproject/opensearch@sha256:0\nports: [{containerPort: 9200}]", "", "", "on on off demo: "},
		"the defaults with arguments":                  {official + "args: [opensearch, -Enode.attr.a=b]", "", "", "on on off demo: "},
		"a first password":                             {official + "env: [{name: OPENSEARCH_INITIAL_ADMIN_PASSWORD, valueFrom: {secretKeyRef: {name: first, key: p}}}]", "", "", "on on off demo: "},
		"the chart's configuration":                    {official, copied, configured("network.host: 0.0.0.0"), "on on off demo: "},
		"turned off":                                   {official + "env: [{name: DISABLE_SECURITY_PLUGIN, value: 'true'}]", "", "", "off off off: DISABLE_SECURITY_PLUGIN is true"},
		"not turned off":                               {official + "env: [{name: DISABLE_SECURITY_PLUGIN, value: 'false'}]", "", "", "on on off demo: the image opensearchproject/opensearch:2.19.4 has its security plugin on by default, and DISABLE_SECURITY_PLUGIN is false, and only true turns it off"},
		"not turned off by another word":               {official + "env: [{name: DISABLE_SECURITY_PLUGIN, value: 'True'}]", "", "", "on on off demo: the image opensearchproject/opensearch:2.19.4 has its security plugin on by default, and DISABLE_SECURITY_PLUGIN is True, and only true turns it off"},
		"turned off by variables of a Secret, perhaps": {official + "envFrom: [{secretRef: {name: more}}]", "", "", "on on off demo: the image opensearchproject/opensearch:2.19.4 has its security plugin on by default, and nothing that can be seen sets DISABLE_SECURITY_PLUGIN or plugins.security.disabled; not seen: the variables of Secret more"},
		"a setting's variable of a Secret":             {official + "env: [{name: plugins.security.disabled, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "", "", "untold untold untold: plugins.security.disabled is in Secret s"},
		"removed by the command":                       {"image: opensearchproject/opensearch:3.6.0\nports: [{containerPort: 9200}]\ncommand: [sh, -c, './bin/opensearch-plugin remove opensearch-security; ./opensearch-docker-entrypoint.sh opensearch']", "", "", "off off off: the command of container db removes the security plugin"},
		"another plugin is removed":                    {"image: opensearchproject/opensearch:3.6.0\nports: [{containerPort: 9200}]\ncommand: [sh, -c, './bin/opensearch-plugin remove opensearch-security-analytics; ./opensearch-docker-entrypoint.sh opensearch']", "", "", "on on off demo: "},
		"another setting of a Secret":                  {official + "env: [{name: plugins.security.ssl.http.enabled, valueFrom: {secretKeyRef: {name: s, key: k}}}, {name: DISABLE_INSTALL_DEMO_CONFIG, value: 'true'}]", "", "", "untold on untold: not seen: plugins.security.ssl.http.enabled is in Secret s"},
		"an image of one's own that is asked by TLS":   {"image: ours.example/opensearch:2\nports: [{containerPort: 9200}]\nreadinessProbe: {httpGet: {path: /, port: 9200, scheme: HTTPS}}", "", "", "on on off: its readiness probe asks by HTTPS | its readiness probe asks by HTTPS, which servers do only with the security plugin"},
		"turned off by a Secret, perhaps":              {official + "env: [{name: DISABLE_SECURITY_PLUGIN, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "", "", "untold untold untold: DISABLE_SECURITY_PLUGIN is in Secret s"},
		"turned off by a ConfigMap":                    {official + "envFrom: [{configMapRef: {name: env}}]", "", "metadata: {name: env}\ndata: {DISABLE_SECURITY_PLUGIN: 'true'}", "off off off: DISABLE_SECURITY_PLUGIN is true (ConfigMap env)"},
		"turned off in opensearch.yml":                 {official, copied, configured("plugins.security.disabled: true"), "off off off: plugins.security.disabled is true (ConfigMap conf)"},
		"turned off in a tree":                         {official, copied, configured("plugins:\n  security:\n    disabled: true"), "off off off: plugins.security.disabled is true (ConfigMap conf)"},
		"turned off by a setting's variable":           {official + "env: [{name: plugins.security.disabled, value: 'true'}]", "", "", "off off off: plugins.security.disabled is true (a variable of container db)"},
		"turned off by an argument":                    {official + "args: [opensearch, -Eplugins.security.disabled=true]", "", "", "off off off: plugins.security.disabled is true (the arguments of container db)"},
		"an argument wins over the file":               {official + "args: [opensearch, -Eplugins.security.disabled=false]", copied, configured("plugins.security.disabled: true\nplugins.security.ssl.http.enabled: true"), "on on off: "},
		"own certificates":                             {official, copied, configured("plugins.security.ssl.http.enabled: true\nplugins.security.ssl.http.pemcert_filepath: a.pem"), "on on off: plugins.security.ssl.http.enabled is true (ConfigMap conf)"},
		"by the name of OpenSearch 1":                  {official, copied, configured("opendistro_security.ssl.http.enabled: true"), "on on off: plugins.security.ssl.http.enabled is true"},
		"a login without TLS":                          {official, copied, configured("plugins.security.ssl.http.enabled: false"), "off on off: "},
		"TLS between nodes only":                       {official, copied, configured("plugins.security.ssl.transport.pemcert_filepath: a.pem"), "off on off: nothing sets plugins.security.ssl.http.enabled"},
		"TLS without a login":                          {official, copied, configured("plugins.security.ssl_only: true\nplugins.security.ssl.http.enabled: true"), "on off off: "},
		"client certificates":                          {official, copied, configured("plugins.security.ssl.http:\n  enabled: true\n  clientauth_mode: REQUIRE"), "on on on: "},
		"client certificates that may be":              {official, copied, configured("plugins.security.ssl.http:\n  enabled: true\n  clientauth_mode: OPTIONAL"), "on on off: "},
		"no demonstration":                             {official + "env: [{name: DISABLE_INSTALL_DEMO_CONFIG, value: 'true'}]", copied, configured("plugins.security.ssl.http.enabled: true"), "on on off: "},
		"no demonstration, and no TLS":                 {official + "env: [{name: DISABLE_INSTALL_DEMO_CONFIG, value: 'true'}]", copied, configured("a: b"), "off on off: DISABLE_INSTALL_DEMO_CONFIG is true, and nothing sets"},
		"configured by a Secret":                       {official + "env: [{name: DISABLE_INSTALL_DEMO_CONFIG, value: 'true'}]\nvolumeMounts: [{name: c, mountPath: /usr/share/opensearch/config/opensearch.yml, subPath: opensearch.yml}]", "volumes: [{name: c, secret: {secretName: conf}}]", "", "untold on untold: not seen: opensearch.yml of Secret conf"},
		"configured by what cannot be seen":            {"image: own/opensearch:2\nvolumeMounts: [{name: c, mountPath: /c/opensearch.yml, subPath: opensearch.yml}]", "volumes: [{name: c, configMap: {name: away}}]", "", "untold untold untold: not seen: opensearch.yml of ConfigMap away"},
		"a file that is no YAML":                       {"image: own/opensearch:2", copied, "metadata: {name: conf}\ndata: {opensearch.yml: 'a: b: ['}", "untold untold untold: not seen: opensearch.yml of ConfigMap conf, which is no YAML"},
		"an image of somebody's own":                   {"image: own/opensearch:2", "", "", "untold untold untold: nothing sets DISABLE_SECURITY_PLUGIN or plugins.security.disabled, and whether the image own/opensearch:2 has the security plugin cannot be seen"},
		"a command of somebody's own":                  {official + "command: [/start]", "", "", "untold untold untold: nothing sets DISABLE_SECURITY_PLUGIN or plugins.security.disabled, and what the command of container db starts"},
		"the operator's command":                       {official + "command: [/bin/bash, -c, install a plugin && ./opensearch-docker-entrypoint.sh]\nenv: [{name: DISABLE_INSTALL_DEMO_CONFIG, value: 'true'}]", copied, configured("plugins.security.ssl.http.enabled: 'true'"), "on on off: "},
		"asked by HTTP":                                {"image: own/opensearch:2\nports: [{name: http, containerPort: 9200}]\nreadinessProbe: {httpGet: {path: /, port: http}}", "", "", "off off off: its readiness probe asks by HTTP, without a login"},
		"asked by HTTP elsewhere":                      {"image: own/opensearch:2\nports: [{name: metrics, containerPort: 9600}]\nreadinessProbe: {httpGet: {path: /, port: metrics}}", "", "", "untold untold untold"},
		"asked by HTTPS":                               {"image: own/opensearch:2\nreadinessProbe: {httpGet: {path: /, port: 9200, scheme: HTTPS, httpHeaders: [{name: Authorization, value: x}]}}", "", "", "on on off: its readiness probe asks by HTTPS"},
		"an exporter that is asked":                    {"image: own/opensearch:2\nlivenessProbe: {exec: {command: [sh, -c, 'curl http://localhost:9114/metrics']}}", "", "", "untold untold untold: "},
		"asked by curl":                                {"image: own/opensearch:2\nlivenessProbe: {exec: {command: [sh, -c, 'curl -sk -u $U:$P https://localhost:9200/']}}", "", "", "on on off: its liveness probe asks by HTTPS"},
		"asked over TCP":                               {"image: own/opensearch:2\nreadinessProbe: {tcpSocket: {port: 9200}}", "", "", "untold untold untold"},
		"Bitnami's, off":                               {"image: docker.io/bitnami/opensearch:2\nenv: [{name: OPENSEARCH_ENABLE_SECURITY, value: 'false'}]", "", "", "off off off: OPENSEARCH_ENABLE_SECURITY is false"},
		"Bitnami's, by default":                        {"image: docker.io/bitnami/opensearch:2", "", "", "off off off: Bitnami's image has security only with OPENSEARCH_ENABLE_SECURITY"},
		"Bitnami's, on":                                {"image: docker.io/bitnami/opensearch:2\nenv: [{name: OPENSEARCH_ENABLE_SECURITY, value: 'true'}]", "", "", "on on off: OPENSEARCH_ENABLE_REST_TLS is not set, which is true"},
		"Bitnami's, without TLS for clients":           {"image: docker.io/bitnami/opensearch:2\nenv: [{name: OPENSEARCH_ENABLE_SECURITY, value: 'yes'}, {name: OPENSEARCH_ENABLE_REST_TLS, value: 'false'}]", "", "", "off on off: OPENSEARCH_ENABLE_REST_TLS is false"},
		"variables of a Secret, own image":             {"image: own/opensearch:2\nenvFrom: [{secretRef: {name: more}}]", "", "", "untold untold untold: not seen: the variables of Secret more"},
		"variables of a Secret, the official":          {official + "envFrom: [{secretRef: {name: more}}]", "", "", "on on off demo: "},
	} {
		t.Run(name, func(t *testing.T) {
			var configs []string
			if tt.config != "" {
				configs = append(configs, tt.config)
			}
			got := judged(t, model.OpenSearch, tt.container, tt.pod, configs...)
			require.True(t, strings.HasPrefix(got, tt.want), got)
		})
	}
}

// TestSolr checks what turns TLS and logins of Solr on.
func TestSolr(t *testing.T) {
	env := func(pairs ...string) string {
		text := "image: solr:9.10\nenv:\n"
		for i := 0; i < len(pairs); i += 2 {
			text += "- {name: " + pairs[i] + ", value: '" + pairs[i+1] + "'}\n"
		}
		return text
	}
	const mounted = "volumes: [{name: s, configMap: {name: conf}}]"
	for name, tt := range map[string]struct{ container, pod, config, want string }{
		"nothing":                      {env("SOLR_HEAP", "1g"), "", "", "off off off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | nothing sets SOLR_AUTH_TYPE"},
		"TLS":                          {env("SOLR_SSL_ENABLED", "true"), "", "", "on off off: SOLR_SSL_ENABLED is true"},
		"TLS that is off":              {env("SOLR_SSL_ENABLED", "false", "SOLR_SSL_KEY_STORE", "/k"), "", "", "off off off: SOLR_SSL_ENABLED is false"},
		"TLS that is set to nothing":   {env("SOLR_SSL_ENABLED", "", "SOLR_SSL_KEY_STORE", "/k"), "", "", "on off off: SOLR_SSL_KEY_STORE is /k"},
		"a key store is enough":        {env("SOLR_SSL_KEY_STORE", "/k"), "", "", "on off off: SOLR_SSL_KEY_STORE is /k"},
		"client certificates":          {env("SOLR_SSL_ENABLED", "true", "SOLR_SSL_NEED_CLIENT_AUTH", "true"), "", "", "on off on: "},
		"client certificates, off":     {env("SOLR_SSL_ENABLED", "true", "SOLR_SSL_WANT_CLIENT_AUTH", "true"), "", "", "on off off: "},
		"a login by type":              {env("SOLR_AUTH_TYPE", "basic"), "", "", "off on off: "},
		"a login by options":           {env("SOLR_AUTHENTICATION_OPTS", "-Dbasicauth=a:b"), "", "", "off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | SOLR_AUTHENTICATION_OPTS is set"},
		"options of a Secret":          {"image: solr:9\nenv: [{name: SOLR_AUTHENTICATION_OPTS, valueFrom: {secretKeyRef: {name: s, key: k}}}]", "", "", "off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | SOLR_AUTHENTICATION_OPTS is in Secret s"},
		"Bitnami's login and TLS":      {env("BITNAMI_DEBUG", "false", "SOLR_ENABLE_AUTHENTICATION", "yes", "SOLR_ADMIN_PASSWORD_FILE", "/p", "SOLR_SSL_ENABLED", "yes"), "", "", "on on off: SOLR_SSL_ENABLED is yes | SOLR_ENABLE_AUTHENTICATION is yes"},
		"Bitnami's probe says nothing": {env("SOLR_SSL_ENABLED", "yes") + "readinessProbe: {exec: {command: [sh, -c, 'curl http://localhost:8983/']}}", "", "", "on off off: SOLR_SSL_ENABLED is yes"},
		"Bitnami's, off":               {env("SOLR_ENABLE_AUTHENTICATION", "no", "SOLR_ADMIN_USERNAME", "admin", "SOLR_ADMIN_PASSWORD_FILE", "/p"), "", "", "off off off: "},
		"the operator's security.json": {"image: solr:9", "initContainers: [{name: setup-zk, env: [{name: SECURITY_JSON, valueFrom: {secretKeyRef: {name: boot, key: security.json}}}]}]", "", "off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | SECURITY_JSON is in Secret boot (container setup-zk)"},
		"a security.json for ZooKeeper": {"image: solr:9", "initContainers: [{name: boot, command: [sh, -c, 'solr zk cp /s/security.json zk:/security.json']}]", "",
			"off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | container boot brings a security.json"},
		"a security.json of a ConfigMap":         {"image: solr:9", mounted, `{"metadata": {"name": "conf"}, "data": {"security.json": "{\"authentication\": {\"class\": \"solr.BasicAuthPlugin\"}}"}}`, "off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | security.json of ConfigMap conf has an authentication"},
		"a security.json without a login":        {"image: solr:9", mounted, `{"metadata": {"name": "conf"}, "data": {"security.json": "{\"authorization\": {}}"}}`, "off off off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | security.json of ConfigMap conf has no authentication"},
		"a security.json that lets everybody in": {"image: solr:9", mounted, `{"metadata": {"name": "conf"}, "data": {"security.json": "{\"authentication\": {\"class\": \"solr.BasicAuthPlugin\", \"blockUnknown\": false}}"}}`, "off off off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | security.json of ConfigMap conf lets everybody in"},
		"a security.json with permissions":       {"image: solr:9", mounted, `{"metadata": {"name": "conf"}, "data": {"security.json": "{\"authentication\": {\"blockUnknown\": false}, \"authorization\": {}}"}}`, "off on off: "},
		"a security.json that is none":           {"image: solr:9", mounted, `{"metadata": {"name": "conf"}, "data": {"security.json": "{"}}`, "off untold off: "},
		"a security.json of a Secret":            {"image: solr:9\nvolumeMounts: [{name: s, mountPath: /var/solr/data/security.json, subPath: security.json}]", "volumes: [{name: s, secret: {secretName: sec}}]", "", "off on off: nothing sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE | pods mount security.json of Secret sec"},
		"solr.in.sh":                             {"image: solr:9", mounted, "metadata: {name: conf}\ndata:\n  solr.in.sh: |\n    # SOLR_AUTH_TYPE=basic\n    SOLR_SSL_ENABLED=true\n    SOLR_SSL_NEED_CLIENT_AUTH=\"true\"\n", "on off on: SOLR_SSL_ENABLED is true (solr.in.sh of ConfigMap conf)"},
		"a solr.in.sh that cannot be seen":       {"image: solr:9\nvolumeMounts: [{name: s, mountPath: /etc/default/solr.in.sh, subPath: solr.in.sh}]", "volumes: [{name: s, secret: {secretName: sh}}]", "", "untold untold untold: nothing that can be seen sets SOLR_SSL_ENABLED or SOLR_SSL_KEY_STORE; not seen: solr.in.sh of Secret sh"},
		"variables of a Secret":                  {"image: solr:9\nenvFrom: [{secretRef: {name: more}}]", "", "", "untold untold untold: "},
		"a command":                              {"image: solr:9\ncommand: [sh, -c, 'export SOLR_SSL_ENABLED=true; exec solr -f']", "", "", "on off off: SOLR_SSL_ENABLED is true (the command of container db)"},
		"asked by HTTPS":                         {"image: solr:9\nports: [{name: solr-client, containerPort: 8984}]\nreadinessProbe: {httpGet: {path: /solr/admin/info/health, port: 8984, scheme: HTTPS}}", "", "", "on off off: its readiness probe asks by HTTPS"},
		"asked with a login":                     {"image: solr:9\nreadinessProbe: {httpGet: {path: /, port: 8983, httpHeaders: [{name: authorization, value: Basic x}]}}", "", "", "off on off: its readiness probe asks by HTTP | its readiness probe logs in"},
		"another container's TLS is not Solr's":  {"image: solr:9", "containers: [{name: exporter, image: exporter, env: [{name: SOLR_SSL_ENABLED, value: 'true'}]}]", "", "off off off: "},
	} {
		t.Run(name, func(t *testing.T) {
			var configs []string
			if tt.config != "" {
				configs = append(configs, tt.config)
			}
			got := judged(t, model.Solr, tt.container, tt.pod, configs...)
			require.True(t, strings.HasPrefix(got, tt.want), got)
		})
	}
}

// TestOthers checks ZooKeeper, and servers of MySQL that refuse connections without TLS.
func TestOthers(t *testing.T) {
	for name, tt := range map[string]struct {
		engine          model.Engine
		container, want string
	}{
		"an ensemble":                    {model.ZooKeeper, "image: zookeeper:3.9\nports: [{containerPort: 2181}]", "off off off: nothing sets ZOO_TLS_CLIENT_ENABLE"},
		"an ensemble with both":          {model.ZooKeeper, "image: zookeeper:3.9\nports: [{name: client, containerPort: 2181}]\nenv: [{name: ZOO_TLS_CLIENT_ENABLE, value: 'true'}]", "off off off: ZOO_TLS_CLIENT_ENABLE is true, beside a port without TLS"},
		"an ensemble with TLS alone":     {model.ZooKeeper, "image: zookeeper:3.9\nports: [{name: client-tls, containerPort: 3181}]\nenv: [{name: ZOO_TLS_CLIENT_ENABLE, value: 'true'}, {name: ZOO_TLS_CLIENT_AUTH, value: none}]", "on off off: "},
		"and client certificates":        {model.ZooKeeper, "image: zookeeper:3.9\nports: [{name: client-tls, containerPort: 3181}]\nenv: [{name: ZOO_CFG_EXTRA, value: 'secureClientPort=3181'}]", "on off on: ZOO_CFG_EXTRA has a secureClientPort, and there"},
		"a port in the servers' lines":   {model.ZooKeeper, "image: zookeeper:3.9\nports: [{containerPort: 2888}]\nenv: [{name: ZOO_CFG_EXTRA, value: 'secureClientPort=2281'}, {name: ZOO_SERVERS, value: 'server.1=zk-0.zk:2888:3888;2181'}]", "off off off: ZOO_CFG_EXTRA has a secureClientPort, beside a port without TLS"},
		"certificates that nobody wants": {model.ZooKeeper, "image: zookeeper:3.9\nports: [{containerPort: 2281}]\nenv: [{name: ZOO_CFG_EXTRA, value: 'secureClientPort=2281 ssl.clientAuth=none'}]", "on off off: "},
		"certificates for who has one":   {model.ZooKeeper, "image: zookeeper:3.9\nports: [{containerPort: 2281}]\nenv: [{name: ZOO_CFG_EXTRA, value: 'secureClientPort=2281'}, {name: SERVER_JVMFLAGS, value: '-Dzookeeper.ssl.clientAuth=want'}]", "on off off: "},
		"MySQL":                          {model.MySQL, "image: mysql:9\nargs: [--ssl-ca=/ca.pem]", "off on off: nothing that can be seen sets require_secure_transport"},
		"MySQL that demands TLS":         {model.MySQL, "image: mysql:9\nargs: [--require-secure-transport=ON]", "on on off: require_secure_transport is ON (the arguments of container db)"},
		"MariaDB that demands TLS":       {model.MariaDB, "image: mariadb:11\nargs: [--require-secure-transport]", "on on off: "},
	} {
		t.Run(name, func(t *testing.T) {
			got := judged(t, tt.engine, tt.container, "")
			require.True(t, strings.HasPrefix(got, tt.want), got)
		})
	}
	_, known := Of(model.FoundationDB, &appsv1.StatefulSet{}, database.Objects{})
	require.False(t, known)
}

// TestSecrets checks which mounted Secrets may have the certificate of an authority, and that a value
// that may be a password is not repeated.
func TestSecrets(t *testing.T) {
	set := &appsv1.StatefulSet{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(`
containers: [{name: db, image: solr:9, env: [{name: SOLR_AUTHENTICATION_OPTS, value: "-Dbasicauth=a:hunter2"}], volumeMounts: [{name: keys, mountPath: /etc/pki}]}]
volumes:
- {name: a, secret: {secretName: search-crt}}
- {name: b, secret: {secretName: search-tls-pass}}
- {name: keys, projected: {sources: [{secret: {name: bundle}}]}}
- {name: d, secret: {secretName: search}}
`), &set.Spec.Template.Spec))
	p, _ := Of(model.Solr, set, database.Objects{})
	require.Equal(t, []string{"search-crt", "bundle"}, p.Secrets)
	require.NotContains(t, p.Login.Why, "hunter2")
}
