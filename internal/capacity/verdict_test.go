package capacity

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/drain"
	"minikcm.dev/minikcm/internal/dump"
	"minikcm.dev/minikcm/internal/golden"
)

// forkOfFile opens a fork of a dump in testdata.
func forkOfFile(t *testing.T, name string, change ...func(*Options)) *Fork {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return openFork(t, string(data), change...)
}

// openFork opens a fork of a dump.
func openFork(t *testing.T, text string, change ...func(*Options)) *Fork {
	t.Helper()
	objects, err := dump.Decode([]byte(text), dump.MaxObjects)
	if err != nil {
		t.Fatal(err)
	}
	opts := Options{Objects: dump.New("the test", objects)}
	for _, c := range change {
		c(&opts)
	}
	f, err := Open(t.Context(), opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Error(err)
		}
	})
	return f
}

// ask asks a question and returns the answer, which must be of that verdict.
func ask(t *testing.T, f *Fork, question string, want Verdict) *Report {
	t.Helper()
	changes, err := ParseChanges(strings.Fields(question), "default")
	if err != nil {
		t.Fatal(err)
	}
	report, err := f.WhatIf(t.Context(), changes)
	if err != nil {
		t.Fatal(err)
	}
	if report.Verdict != want || !report.Settled {
		t.Errorf("%s: the verdict is %q (settled: %v), want %q:\n%s", question, report.Verdict, report.Settled, want, printed(t, report))
	}
	return report
}

func printed(t *testing.T, r *Report) string {
	t.Helper()
	var out strings.Builder
	if err := r.Print(&out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func (f *Fork) pod(t *testing.T, name string) *corev1.Pod {
	t.Helper()
	pod, err := f.client.CoreV1().Pods("default").Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return pod
}

// between fails unless a number of seconds is within bounds.
func between(t *testing.T, what string, got float64, from, to time.Duration) {
	t.Helper()
	if got < from.Seconds() || got > to.Seconds() {
		t.Errorf("%s after %v s, want %v to %v", what, got, from, to)
	}
}

// Of three pods of which the budget needs two, one crash loops: the eviction of another is refused for
// ever, and the one that crashes may go, but its replacement crashes as well.
func TestDrainBesideACrashLoop(t *testing.T) {
	t.Parallel()
	f := forkOfFile(t, "crash-dump-min.yaml")
	if pod := f.pod(t, "api-2"); isReady(pod) || pod.Status.ContainerStatuses[0].State.Waiting == nil || pod.Status.ContainerStatuses[0].RestartCount < 8 {
		t.Errorf("the pod that crashed in the dump: %+v", pod.Status)
	}
	r := ask(t, f, "drain node-0", DoesNotFit)
	if len(r.Refused) != 1 || r.Refused[0].Pod.Name != "api-0" || !strings.Contains(r.Refused[0].Reason, "The disruption budget api needs 2 healthy pods and has 2 currently") {
		t.Errorf("refused: %+v", r.Refused)
	}
	golden.Compare(t, "testdata/drain-crash.golden", printed(t, r))

	f = forkOfFile(t, "crash-dump-min.yaml")
	r = ask(t, f, "drain node-3", Fits)
	if pod := f.pod(t, "api-2"); pod.Spec.NodeName == "node-3" || isReady(pod) {
		t.Errorf("the replacement of the pod that crashed: %+v", pod.Status)
	}
	if !slices.ContainsFunc(r.Assumed, func(a Assumed) bool {
		return a.Replaces == "api-2" && a.What == "crashes after 1s with exit code 1"
	}) {
		t.Errorf("assumed: %+v", r.Assumed)
	}
}

// The budget allows one pod less, and each pod takes two minutes to get ready: the second of the two pods
// on the node is evicted at the first attempt, every 5 s, after the first one's replacement is ready.
func TestDrainOfSlowPods(t *testing.T) {
	t.Parallel()
	r := ask(t, forkOfFile(t, "slow.yaml"), "drain a", Fits)
	if len(r.Drains) != 1 || !r.Drains[0].Done || len(r.Refused) > 0 || len(r.Moved) != 2 {
		t.Errorf("drained: %+v, refused: %+v, moved: %+v", r.Drains, r.Refused, r.Moved)
	}
	between(t, "drained", r.Drains[0].Took, 120*time.Second, 132*time.Second)
	between(t, "settled", r.Took, 240*time.Second, 255*time.Second)
	evictions := slices.DeleteFunc(slices.Clone(r.Waited), func(w Wait) bool { return w.For != WaitEviction })
	if len(evictions) != 1 || !strings.Contains(evictions[0].Reason, "disruption budget web") {
		t.Errorf("waited: %+v", r.Waited)
	}
	between(t, "evicted", evictions[0].Seconds, 120*time.Second, 130*time.Second)
}

// The pod of a removed node is collected after 40 s. Its volume is detached by force 6 minutes later, and
// until then the reason is that it is attached elsewhere.
func TestRemoveTheNodeOfAVolume(t *testing.T) {
	t.Parallel()
	f := forkOfFile(t, "ebs-min.yaml")
	node := f.pod(t, "db-0").Spec.NodeName
	r := ask(t, f, "remove "+node, Uncertain)
	if pod := f.pod(t, "db-0"); !isReady(pod) || !r.Fits {
		t.Errorf("in the end: %+v", pod.Status)
	}
	between(t, "settled", r.Took, 6*time.Minute, 7*time.Minute)
	if len(r.Waited) != 1 || !strings.HasPrefix(r.Waited[0].Reason, `Multi-Attach error for volume "pv1"`) {
		t.Errorf("waited: %+v", r.Waited)
	}
	between(t, "started", r.Waited[0].Seconds, 5*time.Minute, 6*time.Minute+10*time.Second)
	for _, want := range []string{"storageclass/gp3", "csidriver/ebs.csi.aws.com"} {
		if !slices.Contains(r.Uncertain, "the dump does not contain "+want) {
			t.Errorf("uncertain because %q, want %s", r.Uncertain, want)
		}
	}
}

// As kubectl, a drain refuses to lose pods or their data unless an option allows it.
func TestDrainOfPodsThatAreLost(t *testing.T) {
	t.Parallel()
	local := "cannot delete Pods with local storage (use --delete-emptydir-data to override): default/cache-"
	bare := "cannot delete Pods that declare no controller (use --force to override): default/bare"
	for _, test := range []struct {
		opts drain.Options
		want []string
	}{
		{drain.Options{}, []string{bare, local}},
		{drain.Options{Force: true}, []string{local}},
		{drain.Options{DeleteEmptyDirData: true}, []string{bare}},
	} {
		f := forkOfFile(t, "bare.yaml", func(o *Options) { o.Drain = test.opts })
		r := ask(t, f, "drain a", DoesNotFit)
		for _, want := range test.want {
			if !strings.Contains(r.Drains[0].Failure, want) {
				t.Errorf("%+v: %q, want %q", test.opts, r.Drains[0].Failure, want)
			}
		}
		if len(r.Gone)+len(r.Moved) > 0 {
			t.Errorf("%+v: pods went: %+v %+v", test.opts, r.Gone, r.Moved)
		}
	}
	f := forkOfFile(t, "bare.yaml", func(o *Options) { o.Drain = drain.Options{Force: true, DeleteEmptyDirData: true} })
	r := ask(t, f, "drain a", DoesNotFit) // the pod of cache runs on that node only
	if !r.Drains[0].Done || len(r.Drains[0].Warnings) != 2 || len(r.Gone) != 1 || len(r.Pending) != 1 {
		t.Errorf("drained: %+v, gone: %+v, pending: %+v", r.Drains, r.Gone, r.Pending)
	}
}

// A pod that a node had rejected stays as it was.
func TestRejectedPod(t *testing.T) {
	t.Parallel()
	pod := forkOfFile(t, "dump-rejected-pod.yaml").pod(t, "rejected")
	if s := pod.Status; s.Phase != corev1.PodFailed || s.Reason != "Evicted" || len(s.ContainerStatuses) > 0 || !strings.HasPrefix(s.Message, "Pod was rejected:") {
		t.Errorf("the status is %+v", s)
	}
}
