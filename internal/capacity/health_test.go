package capacity

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// stated gives a node of nodesYAML conditions.
func stated(text, node, conditions string) string {
	return strings.Replace(text, "kubernetes.io/hostname: "+node+", }}\nstatus: {", "kubernetes.io/hostname: "+node+", }}\nstatus: {conditions: ["+conditions+"], ", 1)
}

const heartbeat = `lastHeartbeatTime: "2026-11-01T00:00:00Z", lastTransitionTime: "2026-11-01T00:00:00Z"`

func (f *Fork) node(t *testing.T, name string) *corev1.Node {
	t.Helper()
	node, err := f.client.CoreV1().Nodes().Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return node
}

// A node that did not report, or was not Ready, stays so, and so does the pod on it. New pods go elsewhere.
func TestNodesThatAreNotReady(t *testing.T) {
	t.Parallel()
	for name, condition := range map[string]string{
		"silent":    `{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: Kubelet stopped posting node status., ` + heartbeat + `}`,
		"not ready": `{type: Ready, status: "False", reason: KubeletNotReady, message: PLEG is not healthy, ` + heartbeat + `}`,
		"pressure":  `{type: Ready, status: "True", reason: KubeletReady, ` + heartbeat + `}, {type: DiskPressure, status: "True", reason: KubeletHasDiskPressure, message: kubelet has disk pressure, ` + heartbeat + `}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tolerating := strings.Replace(podYAML("web", "web-a", "n0"), "spec: {", "spec: {tolerations: [{operator: Exists}], ", 1)
			f := openFork(t, stated(nodesYAML(3), "n0", condition)+ownerYAML("web", 1)+tolerating)
			was := f.node(t, "n0")
			r := ask(t, f, "scale replicaset/web=10", DoesNotFit) // two nodes have room for four each
			if len(r.Pending) != 1 || len(r.Started) != 9 {
				t.Errorf("started %d, pending %+v", len(r.Started), r.Pending)
			}
			for _, p := range r.Started {
				if p.Node == "n0" {
					t.Errorf("pod %s is on n0", p.Pod)
				}
			}
			node := f.node(t, "n0")
			for i := range was.Status.Conditions {
				if a, b := was.Status.Conditions[i], node.Status.Conditions[i]; a.Status != b.Status || a.Reason != b.Reason || a.Message != b.Message {
					t.Errorf("the condition %+v became %+v", a, b)
				}
			}
			if nodeReady(node) != (name == "pressure") {
				t.Errorf("conditions: %+v", node.Status.Conditions)
			}
			if pod := f.pod(t, "web-a"); pod.Spec.NodeName != "n0" || pod.Status.Phase != corev1.PodRunning {
				t.Errorf("the pod on it: %+v", pod.Status)
			}
		})
	}
}

// ailing is a pod of podYAML whose container has another status.
func ailing(text, container string) string {
	at := strings.Index(text, "containerStatuses: [")
	return text[:at] + "containerStatuses: [{name: c, image: x, imageID: x, " + container + "}]\n"
}

// Of three pods one ails in a way that a replacement does or does not share, and the budget needs two: the
// others cannot go.
func TestWhatAilsStays(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status string
		// heir is whether a replacement ails, too.
		heir bool
	}{
		"crash":      {`ready: false, started: false, restartCount: 9, state: {waiting: {reason: CrashLoopBackOff, message: back-off 5m0s}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled, startedAt: "2026-11-01T00:00:00Z", finishedAt: "2026-11-01T00:00:20Z"}}`, true},
		"image":      {`ready: false, started: false, restartCount: 0, state: {waiting: {reason: ImagePullBackOff, message: 'Back-off pulling image "web"'}}`, true},
		"config":     {`ready: false, started: false, restartCount: 0, state: {waiting: {reason: CreateContainerConfigError, message: 'secret "db" not found'}}`, false},
		"run":        {`ready: false, started: false, restartCount: 0, state: {waiting: {reason: RunContainerError, message: no such file}}`, true},
		"unready":    {`ready: false, started: true, restartCount: 0, state: {running: {startedAt: "2026-10-31T00:00:00Z"}}`, false},
		"terminated": {`ready: false, started: false, restartCount: 3, state: {terminated: {exitCode: 1, reason: Error, startedAt: "2026-10-31T00:00:00Z", finishedAt: "2026-10-31T00:00:05Z"}}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bad := ailing(podYAML("web", "web-c", "n2"), test.status)
			bad = strings.Replace(bad, `{type: Ready, status: "True"`, `{type: Ready, status: "False"`, 1)
			text := nodesYAML(3) + ownerYAML("web", 3) + podYAML("web", "web-a", "n0") + podYAML("web", "web-b", "n1") + bad + budgetYAML("web", "minAvailable: 2")
			if name == "config" {
				text = strings.ReplaceAll(text, "image: web, resources", "image: web, envFrom: [{secretRef: {name: db, optional: true}}], resources")
				text = strings.Replace(text, "name: web-c, namespace: default", "name: web-c, namespace: default, annotations: {x: z}", 1)
				at := strings.LastIndex(text, "optional: true")
				text = text[:at] + "optional: false" + text[at+len("optional: true"):]
			}
			f := openFork(t, text)
			if pod := f.pod(t, "web-c"); isReady(pod) {
				t.Errorf("the pod got ready: %+v", pod.Status)
			}
			ask(t, f, "drain n0", DoesNotFit)
			r := ask(t, f, "drain n2", Fits)
			if len(r.Moved) != 1 || r.Moved[0].Pod.Name != "web-c" {
				t.Fatalf("moved: %+v", r.Moved)
			}
			if heir := f.pod(t, r.Moved[0].As.Name); isReady(heir) == test.heir {
				t.Errorf("the replacement is ready: %v: %+v", isReady(heir), heir.Status)
			}
		})
	}
}

// A gate that a controller outside of the fork opened is opened for the replacements, too.
func TestReadinessGates(t *testing.T) {
	t.Parallel()
	gated := func(text string) string {
		text = strings.ReplaceAll(text, "containers: [", "readinessGates: [{conditionType: example.com/lb}], containers: [")
		return strings.ReplaceAll(text, "conditions: [", `conditions: [{type: example.com/lb, status: "True"}, `)
	}
	text := nodesYAML(3) + gated(ownerYAML("web", 2)+podYAML("web", "web-a", "n0")+podYAML("web", "web-b", "n0")) + budgetYAML("web", "maxUnavailable: 1")
	r := ask(t, openFork(t, text), "drain n0", Fits)
	if !r.Drains[0].Done || len(r.Moved) != 2 {
		t.Errorf("drained: %+v, moved: %+v", r.Drains, r.Moved)
	}
}

// A claim for which no volume was provisioned gets none in the fork either, and its pod stays pending.
func TestUnprovisionedClaim(t *testing.T) {
	t.Parallel()
	text := nodesYAML(1) + `---
{apiVersion: storage.k8s.io/v1, kind: StorageClass, metadata: {name: ebs}, provisioner: ebs.csi.aws.com, volumeBindingMode: Immediate}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data-db-0, namespace: default, creationTimestamp: "2026-11-01T00:00:00Z", labels: {app: db}, annotations: {volume.kubernetes.io/storage-provisioner: ebs.csi.aws.com}}
spec: {accessModes: [ReadWriteOnce], storageClassName: ebs, resources: {requests: {storage: 1Gi}}}
status: {phase: Pending}
---
{apiVersion: v1, kind: ConfigMap, metadata: {name: later, namespace: default, creationTimestamp: "2026-11-01T01:00:00Z"}}
` + strings.Replace(workloadYAML("StatefulSet", "db", 1, "1", ""), "spec: {", "spec: {volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], storageClassName: ebs, resources: {requests: {storage: 1Gi}}}}], ", 1)
	f := openFork(t, text)
	if pod := f.pod(t, "db-0"); pod.Spec.NodeName != "" {
		t.Errorf("the pod is on %s: %+v", pod.Spec.NodeName, pod.Status)
	}
	// A new claim of the class is provisioned.
	r := ask(t, f, "scale statefulset/db=1, add 1 like n0", Fits)
	if len(r.Pending) != 1 || !r.Pending[0].Before {
		t.Errorf("pending: %+v", r.Pending)
	}
}
