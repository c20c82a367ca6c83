package siege

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"github.com/rollcall-dev/rollcall/coordinator/api/v1alpha1"
	"github.com/rollcall-dev/rollcall/coordinator/inject"
	"github.com/rollcall-dev/rollcall/coordinator/lead"
	"github.com/rollcall-dev/rollcall/deploy/manifests"
)

const (
	// most is the share of its limit that a coordinator may reach under attack, in
	// percent: the rest is for its own work on a fleet.
	most = 70
	// missed is the share of reviews that may come too late while an attack goes on,
	// in percent: attackers and attacked share the processors here.
	missed = 5
	// leaseDuration is after how long without a renewal another coordinator takes the lease.
	leaseDuration = 15 * time.Second

	// patient is how long a pod of another database may take to go, and long an attack
	// within which one has to.
	patient = 30 * time.Second
	long    = 8 * time.Second

	honestNamespace = "honest"
	honestCluster   = "db"
)

// judge watches one coordinator during an attack.
type judge struct {
	c       *coordinator
	timeout time.Duration // of the webhook, as the chart says
	metrics *scraper
	kept    *http.Client // with connections that were there before the attack, like the API server's
	stop    func()
	done    sync.WaitGroup
	begin   time.Time

	mu       sync.Mutex
	peak     int64
	answers  []time.Duration
	failures []string      // of reviews while the attack went on
	silence  time.Duration // the longest time without a renewal of the lease
	others   []string      // who held the lease instead
}

func (c *coordinator) judge(t *testing.T) *judge {
	t.Helper()
	conf, err := c.world.admin.AdmissionregistrationV1().MutatingWebhookConfigurations().Get(t.Context(), inject.ConfigurationName, metav1.GetOptions{})
	require.NoError(t, err)
	j := &judge{c: c, timeout: time.Duration(*conf.Webhooks[0].TimeoutSeconds) * time.Second, kept: c.apiServer(t)}
	c.world.applyHonest(t, "zone")
	j.require(t, "before the attack")
	if c.world.rolling == nil {
		c.world.rolling = c.world.newRolling(c.world.t, c)
	}
	j.requireGo(t, "before the attack", time.Now())
	j.metrics = scrape(c.http, fmt.Sprintf("namespace=%q,pod=%q", manifests.Namespace, c.identity))
	time.Sleep(2 * scrapeEvery)
	j.begin = time.Now()
	ctx, cancel := context.WithCancel(context.Background())
	j.stop = cancel
	every := func(interval time.Duration, do func(context.Context)) {
		j.done.Go(func() {
			for ctx.Err() == nil {
				do(ctx)
				select {
				case <-ctx.Done():
				case <-time.After(interval):
				}
			}
		})
	}
	every(10*time.Millisecond, func(context.Context) {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.peak = max(j.peak, c.group.used())
	})
	every(500*time.Millisecond, func(ctx context.Context) {
		took, err := j.review(ctx, j.kept)
		j.mu.Lock()
		defer j.mu.Unlock()
		if err == nil {
			j.answers = append(j.answers, took)
		} else if ctx.Err() == nil {
			j.failures = append(j.failures, err.Error())
		}
	})
	every(500*time.Millisecond, func(ctx context.Context) { j.watchLease(ctx) })
	t.Cleanup(cancel)
	return j
}

func (j *judge) watchLease(ctx context.Context) {
	lease, err := j.c.world.admin.CoordinationV1().Leases(manifests.Namespace).Get(ctx, lead.LeaseName, metav1.GetOptions{})
	if err != nil {
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if holder := lease.Spec.HolderIdentity; holder == nil || *holder != j.c.identity {
		j.others = append(j.others, fmt.Sprintf("%v", holder))
		return
	}
	j.silence = max(j.silence, time.Since(lease.Spec.RenewTime.Time))
}

// apiServer is a client that knows the webhook as the API server does, and nothing else.
func (c *coordinator) apiServer(t *testing.T) *http.Client {
	t.Helper()
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(c.authority))
	transport := &http.Transport{
		TLSClientConfig:   &tls.Config{RootCAs: pool, ServerName: "rollcall-coordinator." + manifests.Namespace + ".svc"},
		ForceAttemptHTTP2: true,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", c.webhook)
		},
	}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// review asks about a pod of a database, and wants an agent in the answer.
func (j *judge) review(ctx context.Context, client *http.Client) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, j.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://webhook"+inject.WebhookPath, strings.NewReader(honestReview))
	if err != nil {
		return 0, err
	}
	request.Header.Set("Content-Type", "application/json")
	begin := time.Now()
	response, err := client.Do(request)
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return 0, err
	}
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(text, &review); err != nil || review.Response == nil {
		return 0, fmt.Errorf("status %s: %.200s", response.Status, text)
	}
	if a := review.Response; a.UID != "honest" || !a.Allowed || !bytes.Contains(a.Patch, []byte(v1alpha1.AgentContainer)) {
		return 0, fmt.Errorf("no agent was added: %.300s", text)
	}
	return time.Since(begin), nil
}

// require that legitimate work is done: reviews, on old connections and on new ones,
// and the status of a DatabaseCluster that a person has just changed.
func (j *judge) require(t *testing.T, when string) {
	t.Helper()
	for which, client := range map[string]*http.Client{"a connection that was there": j.kept, "a new connection": j.c.apiServer(t)} {
		_, err := j.review(t.Context(), client)
		assert.NoError(t, err, "%s, a review on %s", when, which)
	}
	want := j.c.world.changeHonest(t)
	begin := time.Now()
	var seen int64
	for seen < want && time.Since(begin) < time.Minute && j.c.alive() {
		time.Sleep(100 * time.Millisecond)
		object, err := j.c.world.clusters(honestNamespace).Get(t.Context(), honestCluster, metav1.GetOptions{})
		require.NoError(t, err)
		seen, _, _ = unstructured.NestedInt64(object.Object, "status", "observedGeneration")
	}
	if assert.GreaterOrEqual(t, seen, want, "%s, a changed DatabaseCluster is not seen within %s", when, time.Since(begin).Round(time.Second)) {
		t.Logf("%s, a changed DatabaseCluster was seen after %s", when, time.Since(begin).Round(100*time.Millisecond))
	}
}

// requireGo waits until the API server has a pod that the coordinator let go after a time.
func (j *judge) requireGo(t *testing.T, when string, begin time.Time) {
	t.Helper()
	var count int
	var problem error
	for deadline := time.Now().Add(patient); time.Now().Before(deadline) && j.c.alive(); time.Sleep(100 * time.Millisecond) {
		if count, problem = j.c.world.rolling.since(begin); count > 0 {
			return
		}
	}
	if j.c.alive() {
		t.Errorf("%s, no pod of another database was let go within %s: %s (%v)", when, patient, j.c.world.rolling.why(t), problem)
	}
}

// judged ends the attack: what became of the coordinator, and which alert was there?
func (j *judge) judged(t *testing.T, alert string) {
	t.Helper()
	attack := time.Since(j.begin).Round(time.Second)
	meanwhile, _ := j.c.world.rolling.since(j.begin)
	if j.c.alive() {
		j.require(t, "after the attack")
		j.requireGo(t, "since the attack began", j.begin)
		time.Sleep(2 * time.Second) // what follows late
	}
	j.stop()
	j.done.Wait()
	j.metrics.judged(t, alert, faster())
	peak := max(j.peak, j.c.group.peak())
	percent := int(100 * peak / j.c.world.limit)
	worst := time.Duration(0)
	if len(j.answers) > 0 {
		worst = slices.Max(j.answers)
	}
	t.Logf("FIGURES of %q, %s: lives: %v (killed for memory: %d); peak %s of %s = %d %%; pods let go meanwhile: %d; reviews meanwhile: %d answered, the slowest in %s, %d not; lease silent for %s at most, held by others: %d; log: %d lines",
		t.Name(), attack, j.c.alive(), j.c.group.kills(), mebibytes(peak), mebibytes(j.c.world.limit), percent,
		meanwhile, len(j.answers), worst.Round(time.Millisecond), len(j.failures), j.silence.Round(100*time.Millisecond), len(j.others), j.c.log.lines)
	assert.True(t, j.c.alive(), "the coordinator ended: %v", j.c.how)
	assert.Zero(t, j.c.group.kills(), "the kernel killed it for its memory")
	assert.LessOrEqual(t, percent, most, "peak of memory in percent of the limit")
	if 100*len(j.failures) > missed*(len(j.failures)+len(j.answers)) {
		t.Errorf("%d reviews were not answered while the attack went on, such as: %.200s", len(j.failures), j.failures[0])
	}
	if attack >= long {
		assert.Positive(t, meanwhile, "no pod of another database was let go while the attack went on")
	}
	assert.Empty(t, j.others, "the lease was somebody else's")
	assert.Less(t, j.silence, leaseDuration, "the lease was not renewed")
}

// applyHonest makes the DatabaseCluster of somebody who has nothing to do with it.
func (w *world) applyHonest(t *testing.T, zone string) int64 {
	t.Helper()
	w.namespace(t, honestNamespace)
	object, err := w.clusters(honestNamespace).Apply(t.Context(), honestCluster, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "rollcall.dev/v1alpha1", "kind": "DatabaseCluster",
		"metadata": map[string]any{"name": honestCluster, "namespace": honestNamespace},
		"spec":     map[string]any{"engine": "Solr", "policy": map[string]any{"zoneKey": zone}},
	}}, metav1.ApplyOptions{FieldManager: "siege", Force: true})
	require.NoError(t, err)
	return object.GetGeneration()
}

// changeHonest changes it, and returns its generation.
func (w *world) changeHonest(t *testing.T) int64 {
	t.Helper()
	patch := fmt.Sprintf(`{"spec":{"policy":{"zoneKey":"zone-%d"}}}`, time.Now().UnixNano())
	object, err := w.clusters(honestNamespace).Patch(t.Context(), honestCluster, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
	require.NoError(t, err)
	return object.GetGeneration()
}
