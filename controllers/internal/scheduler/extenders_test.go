package scheduler

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clienttesting "k8s.io/client-go/testing"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	st "minikcm.dev/minikcm/controllers/internal/scheduler/schedulertest"
)

// testExtender is an HTTP extender: licence allows filter to keep a node, and prioritize prefers the last
// node.
type testExtender struct {
	t       *testing.T
	cluster *testCluster
	ledger  *clock.Ledger
	licence func(pod *corev1.Pod, node string) string
}

func (e *testExtender) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if e.ledger.Idle() {
		e.t.Errorf("%s: nothing is in flight during the call", r.URL.Path)
	}
	var answer any
	switch r.URL.Path {
	case "/filter":
		answer = e.filter(r)
	case "/prioritize":
		var args extenderv1.ExtenderArgs
		e.decode(r, &args)
		list := extenderv1.HostPriorityList{}
		for i, node := range *args.NodeNames {
			list = append(list, extenderv1.HostPriority{Host: node, Score: int64(10 * i / max(len(*args.NodeNames)-1, 1))})
		}
		answer = list
	case "/bind":
		var args extenderv1.ExtenderBindingArgs
		e.decode(r, &args)
		err := e.cluster.client.CoreV1().Pods(args.PodNamespace).Bind(r.Context(), &corev1.Binding{
			ObjectMeta: metav1.ObjectMeta{Namespace: args.PodNamespace, Name: args.PodName, UID: args.PodUID, Annotations: map[string]string{"by": "extender"}},
			Target:     corev1.ObjectReference{Kind: "Node", Name: args.Node},
		}, metav1.CreateOptions{})
		answer = extenderv1.ExtenderBindingResult{}
		if err != nil {
			answer = extenderv1.ExtenderBindingResult{Error: err.Error()}
		}
	case "/preempt":
		var args extenderv1.ExtenderPreemptionArgs
		e.decode(r, &args)
		delete(args.NodeNameToMetaVictims, "n")
		answer = extenderv1.ExtenderPreemptionResult{NodeNameToMetaVictims: args.NodeNameToMetaVictims}
	default:
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_ = json.NewEncoder(w).Encode(answer)
}

func (e *testExtender) decode(r *http.Request, args any) {
	if err := json.NewDecoder(r.Body).Decode(args); err != nil {
		e.t.Error(err)
	}
}

func (e *testExtender) filter(r *http.Request) *extenderv1.ExtenderFilterResult {
	var args extenderv1.ExtenderArgs
	e.decode(r, &args)
	kept := []string{}
	answer := &extenderv1.ExtenderFilterResult{NodeNames: &kept, FailedNodes: extenderv1.FailedNodesMap{}}
	for _, node := range *args.NodeNames {
		if why := e.licence(args.Pod, node); why != "" {
			answer.FailedNodes[node] = why
		} else {
			kept = append(kept, node)
		}
	}
	return answer
}

// startExtended starts a scheduler with an extender. %s in the configuration is its URL.
func startExtended(t *testing.T, extenders string, licence func(*corev1.Pod, string) string, pods ...runtime.Object) (*testCluster, string) {
	t.Helper()
	e := &testExtender{t: t, ledger: clock.NewLedger(), licence: licence}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	configured, err := config.Parse(fmt.Appendf(nil, "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\nextenders:\n"+extenders, server.URL))
	if err != nil {
		t.Fatal(err)
	}
	e.cluster = startConfigured(t, clock.Real(), e.ledger, configured, append(pods, st.Node("n"), st.Node("m"), st.Node("z"))...)
	return e.cluster, server.URL
}

// A pod goes where the extender lets it and scores the highest, and the extender binds it. One that it
// excludes from all nodes has the extender's messages.
func TestExtender(t *testing.T) {
	tc, _ := startExtended(t, `
- {urlPrefix: '%s', filterVerb: filter, prioritizeVerb: prioritize, bindVerb: bind, weight: 5, nodeCacheCapable: true}
`, func(pod *corev1.Pod, node string) string {
		if pod.Name == "free" && node != "z" || pod.Name == "one" && node == "m" {
			return ""
		}
		return "no licence"
	})
	tc.create(st.Pod("one"))
	tc.eventually("the pod with one node", tc.bound("one", "m"))
	tc.create(st.Pod("free"))
	tc.eventually("the pod with two nodes", func(ctx context.Context) bool {
		p := tc.pod(ctx, "free")
		return p != nil && p.Spec.NodeName != ""
	})
	for _, a := range tc.client.Actions() {
		if create, ok := a.(clienttesting.CreateAction); ok && create.GetSubresource() == "binding" {
			if binding := create.GetObject().(*corev1.Binding); binding.Annotations["by"] != "extender" {
				t.Errorf("%s was not bound by the extender", binding.Name)
			}
		}
	}
	tc.create(st.Pod("none"))
	tc.eventually("the messages", tc.reported("none", "FailedScheduling",
		"0/3 nodes are available: 3 no licence. preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod."))
}

// The extender's scores outweigh the plugins': node n has more room.
func TestExtenderScores(t *testing.T) {
	tc, _ := startExtended(t, `
- {urlPrefix: '%s', filterVerb: filter, weight: 1, nodeCacheCapable: true}
- {urlPrefix: '%[1]s', prioritizeVerb: prioritize, weight: 50, nodeCacheCapable: true}
`, func(_ *corev1.Pod, node string) string {
		if node == "z" {
			return "no licence"
		}
		return ""
	})
	for _, name := range []string{"a", "b", "c"} {
		tc.create(st.Pod(name, st.Requests("cpu", "1")))
		tc.eventually("the pod on the last feasible node", func(ctx context.Context) bool {
			p := tc.pod(ctx, name)
			return p != nil && p.Spec.NodeName != ""
		})
	}
	if node := tc.pod(t.Context(), "a").Spec.NodeName; !tc.bound("b", node)(t.Context()) || !tc.bound("c", node)(t.Context()) {
		t.Errorf("the pods are on several nodes, although the extender scores %s by far the highest", node)
	}
}

// The error of an extender fails the attempt unless the extender is ignorable. An extender is asked only
// about pods that request a resource that it manages.
func TestExtenderErrors(t *testing.T) {
	tc, url := startExtended(t, `
- {urlPrefix: '%s', filterVerb: broken, prioritizeVerb: broken, bindVerb: broken, weight: 1, ignorable: true}
- {urlPrefix: '%[1]s', filterVerb: broken, managedResources: [{name: example.com/gpu, ignoredByScheduler: true}]}
`, nil)
	tc.create(st.Pod("plain"))
	tc.eventually("the pod that no other extender manages", func(ctx context.Context) bool {
		p := tc.pod(ctx, "plain")
		return p != nil && p.Spec.NodeName != ""
	})
	tc.create(st.Pod("gpu", st.Requests("example.com/gpu", "1")))
	tc.eventually("the error", tc.reported("gpu", "FailedScheduling", "failed broken with extender at URL "+url+"/broken, code 500"))
	if c := tc.condition(t.Context(), "gpu", corev1.PodScheduled); c.Status == corev1.ConditionTrue {
		t.Errorf("condition %+v", c)
	}
}

// Preemption frees a node that the extender leaves in its answer.
func TestExtenderPreempts(t *testing.T) {
	on := func(node string, priority int32) runtime.Object {
		return st.Pod("on-"+node, st.OnNode(node), st.Requests("cpu", "4"), st.Priority(priority))
	}
	tc, _ := startExtended(t, `
- {urlPrefix: '%s', preemptVerb: preempt, nodeCacheCapable: true}
`, nil, on("n", 1), on("m", 2), on("z", 3))
	tc.create(st.Pod("high", st.Requests("cpu", "2"), st.Priority(10)))
	// The pod on n is the least important, but the extender removes n.
	tc.eventually("the preemption", tc.bound("high", "m"))
	if tc.pod(t.Context(), "on-n") == nil || tc.pod(t.Context(), "on-z") == nil {
		t.Error("a pod on another node was preempted")
	}
}
