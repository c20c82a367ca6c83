package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/yaml"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/model"
)

const (
	system  = "rollcall-system"
	account = "rollcall-coordinator"
	user    = "system:serviceaccount:" + system + ":" + account
	db      = "search" // name of every DatabaseCluster and of its StatefulSet
)

// world is the API server with all that is in it.
type world struct {
	kubectl    string
	kubeconfig string
	config     *rest.Config
	client     *kubernetes.Clientset
	clusters   *v1alpha1.Client
	agents     *agents
	live       time.Duration // from Running to a member of the database

	bare atomic.Int64 // pods that were made without an agent, and made again

	mu    sync.Mutex
	ready map[string]map[string]string // namespace, pod: revision of those that are ready
}

func newWorld(kubeconfig, kubectl string) (*world, error) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 200, 400
	w := &world{kubectl: kubectl, kubeconfig: kubeconfig, config: config, agents: newAgents(), live: 2 * time.Second,
		ready: map[string]map[string]string{}}
	if w.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	w.clusters, err = v1alpha1.NewForConfig(config)
	return w, err
}

// install applies what the chart renders, but for what would run coordinators in pods.
func (w *world) install(ctx context.Context, manifest []byte) error {
	var keep []string
	for text := range strings.SplitSeq(string(manifest), "\n---\n") {
		var object struct {
			Kind     string `json:"kind"`
			Metadata struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := yaml.Unmarshal([]byte(text), &object); err != nil {
			return fmt.Errorf("the manifests: %w", err)
		}
		if object.Kind == "" || slices.Contains([]string{"Deployment", "CronJob", "PodDisruptionBudget", "Service"}, object.Kind) {
			continue
		}
		keep = append(keep, text)
	}
	for range 10 { // the namespace and the definition may be younger than what is in them
		command := exec.CommandContext(ctx, w.kubectl, "--kubeconfig", w.kubeconfig, "apply", "--server-side", "-f", "-")
		command.Stdin = strings.NewReader(strings.Join(keep, "\n---\n"))
		var out bytes.Buffer
		command.Stdout, command.Stderr = &out, &out
		err := command.Run()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		time.Sleep(2 * time.Second)
		if strings.Contains(out.String(), "denied") {
			return fmt.Errorf("apply: %w: %s", err, out.String())
		}
	}
	return errors.New("the manifests could not be applied; try kubectl apply by hand")
}

// webhook makes the Service of the coordinators lead to processes of this machine.
func (w *world) webhook(ctx context.Context, ip string, ports []int32) error {
	_, err := w.client.CoreV1().Services(system).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: account},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "webhook", Port: 443}}},
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	for _, port := range ports {
		_, err := w.client.DiscoveryV1().EndpointSlices(system).Create(ctx, &discoveryv1.EndpointSlice{
			ObjectMeta:  metav1.ObjectMeta{Name: account + "-" + strconv.Itoa(int(port)), Labels: map[string]string{discoveryv1.LabelServiceName: account}},
			AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{ip}, Conditions: discoveryv1.EndpointConditions{Ready: new(true)}}},
			Ports:       []discoveryv1.EndpointPort{{Name: new("webhook"), Port: new(port), Protocol: new(corev1.ProtocolTCP)}},
		}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// login writes a kubeconfig of the coordinator's own account, which has the chart's rights and no more.
func (w *world) login(ctx context.Context, file string) error {
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(86400))}}
	token, err := w.client.CoreV1().ServiceAccounts(system).CreateToken(ctx, account, request, metav1.CreateOptions{})
	if err != nil {
		return err
	}
	caData := w.config.CAData
	kubeconfig := clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: w.config.Host, CertificateAuthorityData: caData, CertificateAuthority: w.config.CAFile}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"u": {Token: token.Status.Token}},
		Contexts:       map[string]*clientcmdapi.Context{"x": {Cluster: "c", AuthInfo: "u"}},
		CurrentContext: "x",
	}
	return clientcmd.WriteToFile(kubeconfig, file)
}

// nodes makes as many as the pods need, in three zones.
func (w *world) nodes(ctx context.Context, pods int) error {
	for i := range pods/100 + 3 {
		_, err := w.client.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{
			Name:        fmt.Sprintf("kwok-%d", i),
			Labels:      map[string]string{"topology.kubernetes.io/zone": fmt.Sprintf("z%d", i%3+1), "type": "kwok"},
			Annotations: map[string]string{"kwok.x-k8s.io/node": "fake"},
		}}, metav1.CreateOptions{})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

func namespaceOf(i int) string { return fmt.Sprintf("db-%03d", i) }

// cluster makes one DatabaseCluster.
func (w *world) cluster(ctx context.Context, namespace string, pods int) error {
	_, err := w.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	cluster := &v1alpha1.DatabaseCluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: db}}
	cluster.APIVersion, cluster.Kind = v1alpha1.GroupVersion.String(), v1alpha1.Kind
	cluster.Spec.Engine = model.Solr
	made, err := w.clusters.DatabaseClusters(namespace).Create(ctx, cluster, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		made, err = w.clusters.DatabaseClusters(namespace).Get(ctx, db, metav1.GetOptions{})
	}
	if err != nil {
		return err
	}
	go w.agents.add(namespace, db, string(made.UID), pods).watch(ctx)
	return nil
}

// database makes the pods of one.
func (w *world) database(ctx context.Context, namespace string, pods int) error {
	labels := map[string]string{"app": db}
	err := w.set(ctx, namespace, db, pods, labels, map[string]string{v1alpha1.LabelCluster: db}, appsv1.OnDeleteStatefulSetStrategyType, appsv1.ParallelPodManagement)
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// set makes a StatefulSet.
func (w *world) set(ctx context.Context, namespace, name string, pods int, selector, labels map[string]string,
	strategy appsv1.StatefulSetUpdateStrategyType, management appsv1.PodManagementPolicyType) error {
	all := map[string]string{}
	for _, m := range []map[string]string{selector, labels} {
		maps.Copy(all, m)
	}
	_, err := w.client.AppsV1().StatefulSets(namespace).Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(pods)), ServiceName: name, Selector: &metav1.LabelSelector{MatchLabels: selector},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: strategy}, PodManagementPolicy: management,
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: all},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "solr", Image: "solr:9.9.0"}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// change gives a StatefulSet another template.
func (w *world) change(ctx context.Context, namespace, name string) error {
	patch := fmt.Sprintf(`{"spec":{"template":{"metadata":{"annotations":{"changed":%q}}}}}`, time.Now().Format(time.RFC3339Nano))
	_, err := w.client.AppsV1().StatefulSets(namespace).Patch(ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

// follow tells the agents which pods run, and trusts the Secrets that are made for them.
func (w *world) follow(ctx context.Context) error {
	config := rest.CopyConfig(w.config)
	config.ContentType = "application/vnd.kubernetes.protobuf"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0)
	pods := factory.Core().V1().Pods().Informer()
	_, err = pods.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(o any) { w.saw(o.(*corev1.Pod)) },
		UpdateFunc: func(_, o any) { w.saw(o.(*corev1.Pod)) },
		DeleteFunc: func(o any) {
			if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
				o = gone.Obj
			}
			w.lost(o.(*corev1.Pod))
		},
	})
	if err != nil {
		return err
	}
	secrets := factory.Core().V1().Secrets().Informer()
	trust := func(o any) {
		secret := o.(*corev1.Secret)
		if d := w.agents.database(secret.Namespace); d != nil && secret.Name == v1alpha1.DerivedName(db) {
			if err := d.trust(secret.Data); err != nil {
				say("%v", err)
			}
		}
	}
	if _, err := secrets.AddEventHandler(cache.ResourceEventHandlerFuncs{AddFunc: trust, UpdateFunc: func(_, o any) { trust(o) }}); err != nil {
		return err
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	return nil
}

func (w *world) saw(pod *corev1.Pod) {
	if pod.DeletionTimestamp != nil {
		w.lost(pod)
		return
	}
	if pod.Labels[v1alpha1.LabelCluster] == db && len(pod.Spec.InitContainers) == 0 {
		// Where the webhook is late, as on a busy machine, a pod is made without an agent.
		w.bare.Add(1)
		go func() {
			if err := w.client.CoreV1().Pods(pod.Namespace).Delete(context.Background(), pod.Name, metav1.DeleteOptions{}); err != nil {
				say("a pod without an agent stays: %v", err)
			}
		}()
		return
	}
	if pod.Status.Phase != corev1.PodRunning || pod.Status.PodIP == "" {
		return
	}
	w.mu.Lock()
	if w.ready[pod.Namespace] == nil {
		w.ready[pod.Namespace] = map[string]string{}
	}
	w.ready[pod.Namespace][pod.Name] = pod.Labels["controller-revision-hash"]
	w.mu.Unlock()
	if d := w.agents.database(pod.Namespace); d != nil && pod.Labels[v1alpha1.LabelCluster] == db {
		w.agents.started(d, &member{ordinal: ordinalOf(pod.Name), pod: pod.Name, uid: string(pod.UID), ip: pod.Status.PodIP, live: time.Now().Add(w.live)})
	}
}

func (w *world) lost(pod *corev1.Pod) {
	w.mu.Lock()
	delete(w.ready[pod.Namespace], pod.Name)
	w.mu.Unlock()
	if d := w.agents.database(pod.Namespace); d != nil && pod.Labels[v1alpha1.LabelCluster] == db {
		w.agents.ended(d, ordinalOf(pod.Name), string(pod.UID))
	}
}

func ordinalOf(pod string) int {
	n, _ := strconv.Atoi(pod[strings.LastIndexByte(pod, '-')+1:])
	return n
}

// count returns how many pods are ready.
func (w *world) count() (ready int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pods := range w.ready {
		ready += len(pods)
	}
	return ready
}

// updated returns how many pods of a StatefulSet are ready on a revision.
func (w *world) updated(namespace, set, revision string) (n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for pod, has := range w.ready[namespace] {
		if has == revision && strings.HasPrefix(pod, set+"-") {
			n++
		}
	}
	return n
}

// revision is what the StatefulSet asks for, once its controller has looked.
func (w *world) revision(ctx context.Context, namespace, name string) (string, error) {
	for {
		set, err := w.client.AppsV1().StatefulSets(namespace).Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		if set.Status.ObservedGeneration == set.Generation {
			return set.Status.UpdateRevision, nil
		}
		time.Sleep(100 * time.Millisecond)
	}
}
