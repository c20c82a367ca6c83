package siege

import (
	"fmt"
	"strings"
)

// honestReview is about a pod as a StatefulSet makes them.
var honestReview = review("honest", `{"apiVersion":"v1","kind":"Pod",
"metadata":{"generateName":"db-","name":"db-0","namespace":"honest",
  "labels":{"app":"solr","rollcall.dev/cluster":"db","controller-revision-hash":"db-1","statefulset.kubernetes.io/pod-name":"db-0"},
  "annotations":{"prometheus.io/scrape":"true"},
  "ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"1f2e","controller":true,"blockOwnerDeletion":true}],
  "managedFields":[{"manager":"kube-controller-manager","operation":"Update","apiVersion":"v1","time":"2026-01-02T03:04:05Z","fieldsType":"FieldsV1",
    "fieldsV1":{"f:metadata":{"f:labels":{".":{},"f:app":{}}},"f:spec":{"f:containers":{}}}}]},
"spec":{"serviceAccountName":"default","hostname":"db-0","subdomain":"db","terminationGracePeriodSeconds":300,
  "initContainers":[{"name":"prepare","image":"busybox:1","command":["sh","-c","chown -R 8983 /data"],"resources":{},"volumeMounts":[{"name":"data","mountPath":"/data"}]}],
  "containers":[{"name":"solr","image":"solr:9","env":[{"name":"POD","valueFrom":{"fieldRef":{"fieldPath":"metadata.name"}}},{"name":"SOLR_HEAP","value":"4g"}],
    "ports":[{"containerPort":8983}],"resources":{"requests":{"cpu":"1","memory":"6Gi"},"limits":{"memory":"6Gi"}},
    "volumeMounts":[{"name":"data","mountPath":"/data"}],"readinessProbe":{"httpGet":{"path":"/","port":8983}}},
    {"name":"exporter","image":"exporter:1","resources":{}}],
  "volumes":[{"name":"data","persistentVolumeClaim":{"claimName":"data-db-0"}}],
  "tolerations":[{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}]}}`)

// review is the one of the API server about a pod that is created.
func review(uid, pod string) string { return reviewWith(uid, "", pod) }

func reviewWith(uid, more, pod string) string {
	return fmt.Sprintf(`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":%q,
"kind":{"group":"","version":"v1","kind":"Pod"},"resource":{"group":"","version":"v1","resource":"pods"},
"namespace":"honest","operation":"CREATE","userInfo":{"username":"system:serviceaccount:kube-system:statefulset-controller"%s},
"object":%s,"oldObject":null,"dryRun":false,"options":{"kind":"CreateOptions","apiVersion":"meta.k8s.io/v1"}}}`, uid, more, pod)
}

// shape is a review that is small on the wire and large once it is decoded.
type shape struct {
	name string
	make func(size int) string
}

// fill repeats a unit, with commas, up to a size.
func fill(size int, unit string) string {
	return strings.TrimSuffix(strings.Repeat(unit+",", size/(len(unit)+1)), ",")
}

// numbered repeats a unit with a number in it.
func numbered(size int, unit string) string {
	var all strings.Builder
	for n := 0; all.Len() < size; n++ {
		if n > 0 {
			all.WriteByte(',')
		}
		fmt.Fprintf(&all, unit, n)
	}
	return all.String()
}

// inPod is a review of a pod that would be given an agent, with more in it.
func inPod(more string) string { return withMetadata("", more) }

func withMetadata(metadata, more string) string { return review("x", somePod(metadata, more)) }

func somePod(metadata, more string) string {
	return `{"metadata":{"name":"x","labels":{"rollcall.dev/cluster":"db"},
"ownerReferences":[{"apiVersion":"apps/v1","kind":"StatefulSet","name":"db","uid":"1f2e","controller":true}]` + metadata + `},` + more + `}`
}

const noContainers = `"spec":{"containers":[{}]}`

var shapes = []shape{
	{"empty containers", func(size int) string { return inPod(`"spec":{"containers":[` + fill(size, `{}`) + `]}`) }},
	{"empty containers of three kinds", func(size int) string {
		list := fill(size/3, `{}`)
		return inPod(`"spec":{"containers":[` + list + `],"initContainers":[` + list + `],"ephemeralContainers":[` + list + `]}`)
	}},
	{"empty volumes", func(size int) string { return inPod(`"spec":{"containers":[{}],"volumes":[` + fill(size, `{}`) + `]}`) }},
	{"volumes with everything in them", func(size int) string {
		return inPod(`"spec":{"containers":[{}],"volumes":[` + fill(size, `{"rbd":{},"nfs":{},"csi":{},"fc":{},"glusterfs":{},"iscsi":{},"secret":{}}`) + `]}`)
	}},
	{"empty env", func(size int) string { return inPod(`"spec":{"containers":[{"env":[` + fill(size, `{}`) + `]}]}`) }},
	{"many containers with many env", func(size int) string {
		return inPod(`"spec":{"containers":[` + fill(size, `{"env":[{},{},{},{},{},{},{},{}],"ports":[{},{},{},{}],"volumeMounts":[{},{},{},{}]}`) + `]}`)
	}},
	{"containers with probes", func(size int) string {
		return inPod(`"spec":{"containers":[` + fill(size, `{"livenessProbe":{"httpGet":{},"exec":{}},"lifecycle":{"preStop":{}},"securityContext":{}}`) + `]}`)
	}},
	{"empty owner references", func(size int) string {
		return strings.Replace(inPod(noContainers), `"controller":true}`, `"controller":true},`+fill(size, `{}`), 1)
	}},
	{"empty managed fields", func(size int) string {
		return withMetadata(`,"managedFields":[`+fill(size, `{}`)+`]`, noContainers)
	}},
	{"small entries of maps", func(size int) string {
		entries := numbered(size/2, `"%x":""`)
		return strings.Replace(withMetadata(`,"annotations":{`+entries+`}`, noContainers), `"rollcall.dev/cluster"`, entries+`,"rollcall.dev/cluster"`, 1)
	}},
	{"small quantities", func(size int) string {
		return inPod(`"spec":{"containers":[{"resources":{"limits":{` + numbered(size, `"%x":1`) + `}}}]}`)
	}},
	{"empty status", func(size int) string {
		return inPod(`"spec":{"containers":[{}]},"status":{"containerStatuses":[` + fill(size, `{}`) + `]}`)
	}},
	{"empty tolerations and constraints", func(size int) string {
		return inPod(`"spec":{"containers":[{}],"tolerations":[` + fill(size/2, `{}`) + `],"topologySpreadConstraints":[` + fill(size/2, `{}`) + `]}`)
	}},
	{"groups of the user", func(size int) string {
		return reviewWith("x", `,"groups":[`+fill(size, `""`)+`]`, somePod("", noContainers))
	}},
	{"extra of the user", func(size int) string {
		return reviewWith("x", `,"extra":{`+numbered(size, `"%x":[""]`)+`}`, somePod("", noContainers))
	}},
	{"the same key again and again", func(size int) string {
		return inPod(`"spec":{` + fill(size, `"containers":[{},{},{},{},{},{},{},{}]`) + `}`)
	}},
	{"deep", func(size int) string {
		return inPod(`"spec":{"containers":[{}],"x":` + strings.Repeat("[", size/2) + strings.Repeat("]", size/2) + `}`)
	}},
	{"deep, and never closed", func(size int) string { return strings.Repeat(`{"a":`, size/5) }},
	{"escaped text", func(size int) string {
		return inPod(`"spec":{"containers":[{"image":"` + strings.Repeat(`\u0001`, size/6) + `"}]}`)
	}},
}

// thirtyThousand is a review as large as the webhook takes them.
func thirtyThousand() string {
	return inPod(`"spec":{"containers":[` + numbered(4<<20-2000, `{"name":"container-%06d","image":"registry.example.com/a/b:v1.2.3","args":["--one=1","--two=2"],"env":[{"name":"A","value":"b"}]}`) + `]}`)
}
