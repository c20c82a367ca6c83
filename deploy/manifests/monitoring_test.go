package manifests

import (
	"os"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/agent/config"
	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
)

// The operator's objects, as far as the chart uses them.
type (
	endpoint struct {
		Port        string       `json:"port"`
		Path        string       `json:"path"`
		Interval    string       `json:"interval,omitempty"`
		Relabelings []relabeling `json:"relabelings,omitempty"`
	}
	relabeling struct {
		SourceLabels []string `json:"sourceLabels"`
		Separator    string   `json:"separator,omitempty"`
		TargetLabel  string   `json:"targetLabel"`
	}
	monitor struct {
		metav1.TypeMeta   `json:",inline"`
		metav1.ObjectMeta `json:"metadata"`
		Spec              struct {
			NamespaceSelector struct {
				Any        bool     `json:"any,omitempty"`
				MatchNames []string `json:"matchNames,omitempty"`
			} `json:"namespaceSelector"`
			Selector            metav1.LabelSelector `json:"selector"`
			Endpoints           []endpoint           `json:"endpoints,omitempty"`
			PodMetricsEndpoints []endpoint           `json:"podMetricsEndpoints,omitempty"`
		} `json:"spec"`
	}
)

const operatorVersion = "monitoring.coreos.com/v1"

// What asks for custom resources of others is asked for.
func TestNothingOfOthersByDefault(t *testing.T) {
	for _, template := range []string{"prometheusrule", "dashboard", "servicemonitor", "podmonitor"} {
		_, err := helm(t, "templates/"+template+".yaml")
		require.ErrorContains(t, err, "exit status", template)
	}
	text, err := os.ReadFile("rollcall.yaml")
	require.NoError(t, err)
	require.NotContains(t, string(text), "monitoring.coreos.com")
}

func TestCoordinatorsAreScraped(t *testing.T) {
	text, err := helm(t, "templates/servicemonitor.yaml", "--namespace", "own", "--set", "metrics.serviceMonitor.enabled=true",
		"--set", "metrics.serviceMonitor.interval=1m30s", "--set", "metrics.serviceMonitor.labels.release=prom")
	require.NoError(t, err)
	var m monitor
	require.NoError(t, yaml.UnmarshalStrict(text, &m))
	require.Equal(t, metav1.TypeMeta{APIVersion: operatorVersion, Kind: "ServiceMonitor"}, m.TypeMeta)
	require.Equal(t, "prom", m.Labels["release"])
	require.Equal(t, []string{"own"}, m.Spec.NamespaceSelector.MatchNames)
	require.Equal(t, []endpoint{{Port: "http", Path: "/metrics", Interval: "1m30s"}}, m.Spec.Endpoints)

	var service corev1.Service
	load(t, "Service", "rollcall-coordinator", &service)
	requireSelects(t, &m.Spec.Selector, service.Labels)
	require.True(t, slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool { return p.Name == "http" && p.Port == 7951 }))
}

// The agents are found by what the webhook puts into pods.
func TestAgentsAreScraped(t *testing.T) {
	text, err := helm(t, "templates/podmonitor.yaml", "--set", "metrics.podMonitor.enabled=true")
	require.NoError(t, err)
	var m monitor
	require.NoError(t, yaml.UnmarshalStrict(text, &m))
	require.Equal(t, metav1.TypeMeta{APIVersion: operatorVersion, Kind: "PodMonitor"}, m.TypeMeta)
	require.True(t, m.Spec.NamespaceSelector.Any)
	require.Len(t, m.Spec.PodMetricsEndpoints, 1)
	target := m.Spec.PodMetricsEndpoints[0]
	require.Empty(t, target.Interval, "the Prometheus has its own")
	require.Equal(t, "/metrics", target.Path)

	pod, _, err := inject.Pod(&corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "prod", Name: "search-0", Labels: map[string]string{v1alpha1.LabelCluster: "search"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "search", Controller: new(true)}},
		},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "solr"}}},
	}, inject.Options{Image: "agent:v1"})
	require.NoError(t, err)
	requireSelects(t, &m.Spec.Selector, pod.Labels)
	var ports []corev1.ContainerPort
	for _, c := range append(pod.Spec.InitContainers, pod.Spec.Containers...) {
		for _, p := range c.Ports {
			if p.Name == target.Port {
				ports = append(ports, p)
			}
		}
	}
	require.Equal(t, []corev1.ContainerPort{{Name: target.Port, ContainerPort: config.PortHTTP, Protocol: corev1.ProtocolTCP}}, ports)
	require.Contains(t, target.Relabelings, relabeling{
		SourceLabels: []string{"__meta_kubernetes_namespace", "__meta_kubernetes_pod_label_rollcall_dev_cluster"},
		Separator:    "/", TargetLabel: "database",
	})
}

func requireSelects(t *testing.T, selector *metav1.LabelSelector, labels map[string]string) {
	t.Helper()
	s, err := metav1.LabelSelectorAsSelector(selector)
	require.NoError(t, err)
	require.False(t, s.Empty())
	require.True(t, s.Matches(labelSet(labels)), "%s does not select %v", s, labels)
}

// What a value must not be is said with its name, before anything is installed.
func TestWrongValuesAreRefused(t *testing.T) {
	for set, where := range map[string]string{
		`metrics.alerts.enabled="yes"`:                                    "/metrics/alerts/enabled",
		`metrics.alerts.interval="1m"`:                                    "'interval' not allowed",
		`metrics.alerts.labels={"a":1}`:                                   "/metrics/alerts/labels/a",
		`metrics.dashboard.annotations=["a"]`:                             "/metrics/dashboard/annotations",
		`metrics.dashboard.folder="x"`:                                    "'folder' not allowed",
		`metrics.serviceMonitor.interval="half a minute"`:                 "/metrics/serviceMonitor/interval",
		`metrics.podMonitor.interval=30`:                                  "/metrics/podMonitor/interval",
		`metrics.podMonitors={}`:                                          "'podMonitors' not allowed",
		`networkPolicy.enabled=1`:                                         "/networkPolicy/enabled",
		`networkPolicy.from=[]`:                                           "'from' not allowed",
		`networkPolicy.metricsFrom=[{}]`:                                  "/networkPolicy/metricsFrom/0",
		`networkPolicy.metricsFrom=[{"namespace":"monitoring"}]`:          "'namespace' not allowed",
		`networkPolicy.grpcFrom=[{"ipBlock":{"except":["10.0.0.0/24"]}}]`: "/networkPolicy/grpcFrom/0/ipBlock",
		`networkPolicy.pageFrom=["nginx"]`:                                "/networkPolicy/pageFrom/0",
		`networkPolicy.egress="no"`:                                       "/networkPolicy/egress",
		`networkPolicy.apiServerPorts=[]`:                                 "/networkPolicy/apiServerPorts",
		`networkPolicy.apiServerPorts=["https"]`:                          "/networkPolicy/apiServerPorts/0",
	} {
		text, err := helm(t, "templates/service.yaml", "--set-json", set)
		require.Error(t, err, set)
		require.Contains(t, string(text), where, set)
	}
}

// The chart is in order, as it is and with everything switched on.
func TestChartIsInOrder(t *testing.T) {
	for name, args := range map[string][]string{
		"by default": nil,
		"all of it": {"--set", "metrics.alerts.enabled=true,metrics.dashboard.enabled=true,metrics.serviceMonitor.enabled=true",
			"--set", "metrics.podMonitor.enabled=true,networkPolicy.egress=true,namespace.create=true"},
	} {
		text, err := run(t, "helm", append([]string{"lint", "--strict", "deploy/chart"}, args...)...)
		require.NoError(t, err, "%s: %s", name, text)
		require.Contains(t, string(text), "0 chart(s) failed")
	}
}
