package decide

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/history"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

var now = time.Unix(1_000_000, 0)

// world is the snapshot of a decision: an update from the image "old" to "new".
type world struct {
	Snapshot
	old, new *appsv1.ControllerRevision
}

func newWorld(t testing.TB, nodes []string, changes ...func(d *appsv1.DaemonSet)) *world {
	t.Helper()
	labels := map[string]string{"app": "agent"}
	d := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "agent", UID: "set", Generation: 3, Annotations: map[string]string{appsv1.DeprecatedTemplateGeneration: "2"}},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{NodeSelector: map[string]string{"run": "yes"}}},
		},
	}
	rolling(1, 0)(d)
	for _, change := range changes {
		change(d)
	}
	w := &world{old: revision(t, d, "old", 1), new: revision(t, d, "new", 2)}
	w.Snapshot = Snapshot{DaemonSet: d, Revisions: []*appsv1.ControllerRevision{w.new, w.old}}
	for _, text := range nodes {
		words := strings.Fields(text)
		node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: words[0], Labels: map[string]string{"run": "yes"}}}
		for _, word := range words[1:] {
			switch word {
			case "other":
				node.Labels = nil
			case "cordoned":
				node.Spec.Unschedulable = true
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: corev1.TaintNodeUnschedulable, Effect: corev1.TaintEffectNoSchedule})
			default:
				node.Spec.Taints = append(node.Spec.Taints, corev1.Taint{Key: "k", Effect: corev1.TaintEffect(word)})
			}
		}
		w.Nodes = append(w.Nodes, node)
	}
	return w
}

func revision(t testing.TB, d *appsv1.DaemonSet, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	data, err := history.Data(&d.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	r := history.Newborn{
		Owner: d, OwnerKind: Kind, Data: data, Labels: d.Spec.Template.Labels,
		HashLabel: appsv1.DefaultDaemonSetUniqueLabelKey, Hash: controllerref.TemplateHash(&d.Spec.Template, nil),
	}.Revision()
	r.Revision, r.UID = number, types.UID(image)
	return r
}

// pods adds pods, each described by its name, its node and words.
func (w *world) pods(all ...string) *world {
	for i, text := range all {
		words := strings.Fields(text)
		pod := newPod(w.DaemonSet, hashOf(w.new), words[1])
		pod.Name, pod.UID, pod.Spec.NodeName = words[0], types.UID(words[0]), words[1]
		pod.CreationTimestamp = metav1.NewTime(now.Add(time.Duration(i-100) * time.Minute))
		pod.Status.Phase = corev1.PodRunning
		for _, word := range words[2:] {
			switch word {
			case "old":
				pod.Labels[appsv1.DefaultDaemonSetUniqueLabelKey], pod.Labels[generationLabel] = hashOf(w.old), "1"
			case "ready", "justready":
				since := metav1.NewTime(now.Add(-time.Hour))
				if word == "justready" {
					since = metav1.NewTime(now.Add(-time.Second))
				}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
			case "unbound":
				pod.Spec.NodeName = ""
			case "failed":
				pod.Status.Phase = corev1.PodFailed
			case "succeeded":
				pod.Status.Phase = corev1.PodSucceeded
			case "going":
				at := metav1.NewTime(now)
				pod.DeletionTimestamp = &at
			case "orphan":
				pod.OwnerReferences = nil
			}
		}
		w.Pods = append(w.Pods, pod)
	}
	return w
}

// did formats a plan's actions, one per line.
func did(w *world, p Plan) []string {
	var lines []string
	for _, action := range p.Actions {
		for _, o := range action.Objects {
			line := string(action.Verb) + " " + o.GetName()
			if pod, ok := o.(*corev1.Pod); ok && action.Verb == plan.Create {
				line = "create on " + nodeOf(pod)
			}
			line = strings.ReplaceAll(line, w.old.Name, "revision-old")
			lines = append(lines, strings.ReplaceAll(line, w.new.Name, "revision-new"))
		}
	}
	return lines
}

func rolling(unavailable, surge int) func(d *appsv1.DaemonSet) {
	u, s := intstr.FromInt(unavailable), intstr.FromInt(surge)
	return func(d *appsv1.DaemonSet) {
		d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{
			Type: appsv1.RollingUpdateDaemonSetStrategyType, RollingUpdate: &appsv1.RollingUpdateDaemonSet{MaxUnavailable: &u, MaxSurge: &s},
		}
	}
}

func share(percent string) func(d *appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) {
		v := intstr.FromString(percent)
		d.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &v
	}
}

func shareOfSurge(percent string) func(d *appsv1.DaemonSet) {
	return func(d *appsv1.DaemonSet) {
		rolling(0, 0)(d)
		v := intstr.FromString(percent)
		d.Spec.UpdateStrategy.RollingUpdate.MaxSurge = &v
	}
}

func onDelete(d *appsv1.DaemonSet) {
	d.Spec.UpdateStrategy = appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}
}

func settling(d *appsv1.DaemonSet) { d.Spec.MinReadySeconds = 10 }

func tolerant(d *appsv1.DaemonSet) {
	d.Spec.Template.Spec.Tolerations = []corev1.Toleration{{Operator: corev1.TolerationOpExists}}
}

func TestDecide(t *testing.T) {
	type change = func(d *appsv1.DaemonSet)
	three := []string{"n1", "n2", "n3"}
	for name, tc := range map[string]struct {
		nodes   []string
		changes []change
		pods    []string
		want    []string
	}{
		"on each node":                        {three, nil, nil, []string{"create on n1", "create on n2", "create on n3"}},
		"where there is none":                 {three, nil, []string{"a n2"}, []string{"create on n1", "create on n3"}},
		"where one is meant to come":          {[]string{"n1"}, nil, []string{"a n1 unbound"}, nil},
		"not before the last has gone":        {[]string{"n1"}, nil, []string{"a n1 going"}, nil},
		"but when it has ended":               {[]string{"n1"}, nil, []string{"a n1 going failed"}, []string{"create on n1"}},
		"with a surge at once":                {[]string{"n1"}, []change{rolling(0, 1)}, []string{"a n1 going"}, []string{"create on n1"}},
		"only on selected nodes":              {[]string{"n1 other", "n2"}, nil, []string{"a n1 ready"}, []string{"create on n2", "delete a"}},
		"cordoned nodes too":                  {[]string{"n1 cordoned"}, nil, nil, []string{"create on n1"}},
		"not on tainted nodes":                {[]string{"n1 NoSchedule", "n2 NoExecute"}, nil, nil, nil},
		"unless they are tolerated":           {[]string{"n1 NoSchedule", "n2 NoExecute"}, []change{tolerant}, nil, []string{"create on n1", "create on n2"}},
		"taints that only prefer do not":      {[]string{"n1 PreferNoSchedule"}, nil, nil, []string{"create on n1"}},
		"taints may let it stay":              {[]string{"n1 NoSchedule", "n2 NoExecute"}, nil, []string{"a n1 ready", "b n2 ready"}, []string{"delete b"}},
		"the oldest of several":               {[]string{"n1"}, nil, []string{"a n1", "b n1", "c n1 unbound"}, []string{"delete b", "delete c"}},
		"bound ones first":                    {[]string{"n1"}, nil, []string{"a n1 unbound", "b n1"}, []string{"delete a"}},
		"failed ones are replaced":            {[]string{"n1"}, nil, []string{"a n1 failed"}, []string{"delete a"}},
		"succeeded ones too":                  {[]string{"n1"}, nil, []string{"a n1 succeeded"}, []string{"delete a"}},
		"those for nodes that have gone go":   {nil, nil, []string{"a n1 unbound", "b n2"}, []string{"delete a"}},
		"an orphan is adopted":                {[]string{"n1"}, nil, []string{"a n1 orphan"}, []string{"adopt a"}},
		"one update at a time":                {three, nil, []string{"a n1 old ready", "b n2 old ready", "c n3 old ready"}, []string{"delete a"}},
		"the next waits":                      {three, nil, []string{"a n1", "b n2 old ready", "c n3 old ready"}, nil},
		"for minReadySeconds too":             {three, []change{settling}, []string{"a n1 justready", "b n2 old ready", "c n3 old ready"}, nil},
		"two updates at a time":               {three, []change{rolling(2, 0)}, []string{"a n1 ready", "b n2 old ready", "c n3 old ready"}, []string{"delete b", "delete c"}},
		"a share is rounded up":               {three, []change{share("40%")}, []string{"a n1 old ready", "b n2 old ready", "c n3 old ready"}, []string{"delete a", "delete b"}},
		"what is going counts":                {three, nil, []string{"a n1 old ready going", "b n2 old ready", "c n3 old ready"}, nil},
		"broken old ones cost nothing":        {three, nil, []string{"a n1 old ready", "b n2 old", "c n3 old"}, []string{"delete b", "delete c"}},
		"nothing with OnDelete":               {[]string{"n1"}, []change{onDelete}, []string{"a n1 old ready"}, nil},
		"a surge comes first":                 {three, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n2 old ready", "c n3 old ready"}, []string{"create on n1"}},
		"the surge waits":                     {[]string{"n1", "n2"}, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n2 old ready", "c n1"}, nil},
		"the successor replaces":              {[]string{"n1"}, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n1 ready"}, []string{"delete a"}},
		"not before minReadySeconds":          {[]string{"n1"}, []change{rolling(0, 1), settling}, []string{"a n1 old ready", "b n1 justready"}, nil},
		"a broken old one is replaced":        {[]string{"n1"}, []change{rolling(0, 1)}, []string{"a n1 old", "b n1"}, []string{"delete a"}},
		"and costs no surge":                  {three, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n2 old", "c n3 old"}, []string{"create on n2", "create on n3", "create on n1"}},
		"no third one":                        {[]string{"n1"}, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n1", "c n1"}, []string{"delete c"}},
		"old ones stay where they may":        {[]string{"n1 NoSchedule", "n2"}, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n2"}, nil},
		"until the others are available":      {[]string{"n1 NoSchedule", "n2"}, []change{rolling(0, 1)}, []string{"a n1 old ready", "b n2 ready"}, []string{"delete a"}},
		"a share of surge is rounded up":      {three, []change{shareOfSurge("40%")}, []string{"a n1 old ready", "b n2 old ready", "c n3 old ready"}, []string{"create on n1", "create on n2"}},
		"and surges where none is to run":     {[]string{"n1 NoSchedule"}, []change{shareOfSurge("40%")}, []string{"a n1 old ready", "b n1"}, nil},
		"broken ones where they may not stay": {[]string{"n1 NoSchedule"}, []change{rolling(0, 1)}, []string{"a n1 old"}, []string{"delete a"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.nodes, tc.changes...).pods(tc.pods...)
			p, err := DaemonSet(w.Snapshot, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, did(w, p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestPodsTolerateWhatDaemonsDo(t *testing.T) {
	spec := &corev1.PodSpec{HostNetwork: true, Tolerations: []corev1.Toleration{
		{Key: corev1.TaintNodeDiskPressure, Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule},
		{Key: "mine", Operator: corev1.TolerationOpExists},
	}}
	var got []string
	for _, one := range tolerations(spec) {
		got = append(got, one.Key+":"+string(one.Effect))
	}
	want := []string{
		"node.kubernetes.io/disk-pressure:NoSchedule", "mine:",
		"node.kubernetes.io/not-ready:NoExecute", "node.kubernetes.io/unreachable:NoExecute", "node.kubernetes.io/memory-pressure:NoSchedule",
		"node.kubernetes.io/pid-pressure:NoSchedule", "node.kubernetes.io/unschedulable:NoSchedule", "node.kubernetes.io/network-unavailable:NoSchedule",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tolerations (-want +got):\n%s", diff)
	}
	if len(spec.Tolerations) != 2 {
		t.Error("the template has been changed")
	}
}

func TestNewPod(t *testing.T) {
	w := newWorld(t, nil, func(d *appsv1.DaemonSet) {
		d.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{}, {}}},
		}}
	})
	pod := newPod(w.DaemonSet, "hash", "n1")
	want := map[string]string{"app": "agent", "controller-revision-hash": "hash", "pod-template-generation": "2"}
	if diff := cmp.Diff(want, pod.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	if pod.GenerateName != "agent-" || nodeOf(pod) != "n1" {
		t.Errorf("pod %+v", pod)
	}
	if terms := w.DaemonSet.Spec.Template.Spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution.NodeSelectorTerms; len(terms) != 2 {
		t.Error("the template has been changed")
	}
}

func TestFailuresAreReplacedEverSlower(t *testing.T) {
	w := newWorld(t, []string{"n1"}).pods("a n1 failed")
	at := now
	var waits []time.Duration
	for range 13 {
		p, err := DaemonSet(w.Snapshot, at)
		if err != nil {
			t.Fatal(err)
		}
		w.Failures = p.Failures
		if len(p.Actions) > 0 {
			if len(p.Events) != 1 || p.Events[0].Message != "Found failed daemon pod a/a on node n1, will try to kill it" {
				t.Errorf("events %v", p.Events)
			}
			continue
		}
		waits = append(waits, p.RequeueAfter)
		at = at.Add(p.RequeueAfter)
	}
	if want := []time.Duration{1, 2, 4, 8, 16, 32}; !slices.EqualFunc(waits, want, func(got, want time.Duration) bool { return got == want*time.Second }) {
		t.Errorf("it waits %v", waits)
	}
	w.DaemonSet.Status.ObservedGeneration = 4
	if p, err := DaemonSet(w.Snapshot, at); err != nil || len(p.Actions) != 1 {
		t.Errorf("another generation: plan %+v, error %v", p, err)
	}
}

func TestStatus(t *testing.T) {
	w := newWorld(t, []string{"n1", "n2", "n3", "n4", "n5 NoSchedule"}, settling).
		pods("a n1 ready", "b n2 justready", "c n3 old ready", "d n5 ready")
	p, err := DaemonSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	want := &appsv1.DaemonSetStatus{
		ObservedGeneration: 3, DesiredNumberScheduled: 4, CurrentNumberScheduled: 3, NumberMisscheduled: 1,
		NumberReady: 3, NumberAvailable: 2, NumberUnavailable: 2, UpdatedNumberScheduled: 2,
	}
	if diff := cmp.Diff(want, p.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if p.RequeueAfter != 9*time.Second {
		t.Errorf("it is looked at again after %v", p.RequeueAfter)
	}
	update := Conclude(w.DaemonSet, p, true)
	if update == nil || *update.Status.CollisionCount != 1 || update.Status.NumberReady != 0 {
		t.Errorf("after a collision: %+v", update)
	}
	w.DaemonSet.Status = *p.Status
	if Conclude(w.DaemonSet, p, false) != nil {
		t.Error("a status is written that is there already")
	}
}

func TestHistoryKeepsWhatIsInUse(t *testing.T) {
	none := int32(0)
	w := newWorld(t, []string{"n1"}, func(d *appsv1.DaemonSet) { d.Spec.RevisionHistoryLimit = &none }).pods("a n1 old")
	older := w.old.DeepCopy()
	older.Name, older.Revision, older.Data.Raw, older.Labels = "older", 0, []byte("{}"), map[string]string{"app": "agent"}
	w.Revisions = append(w.Revisions, older)
	p, err := DaemonSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"delete a", "delete older"}, did(w, p)); diff != "" {
		t.Errorf("actions (-want +got):\n%s", diff)
	}
}

func TestTwinsBecomeOneRevision(t *testing.T) {
	w := newWorld(t, []string{"n1", "n2"}).pods("a n1 ready", "b n2 old ready")
	newest := w.new.DeepCopy()
	newest.Name, newest.UID, newest.Revision, newest.Labels = "newest", "newest", 9, map[string]string{"app": "agent"}
	w.Revisions = append(w.Revisions, newest)
	p, err := DaemonSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"relabel a", "delete revision-new", "delete b"}, did(w, p)); diff != "" {
		t.Fatalf("actions (-want +got):\n%s", diff)
	}
	if hash := p.Actions[0].Objects[0].GetLabels()[appsv1.DefaultDaemonSetUniqueLabelKey]; hash != "newest" {
		t.Errorf("the pod's label is %q", hash)
	}
	if hash := w.Pods[0].Labels[appsv1.DefaultDaemonSetUniqueLabelKey]; hash == "newest" {
		t.Error("the cache has been changed")
	}
}

func TestSelectingAllIsRefused(t *testing.T) {
	w := newWorld(t, []string{"n1"}, func(d *appsv1.DaemonSet) { d.Spec.Selector = &metav1.LabelSelector{} }).pods("a n1 orphan")
	p, err := DaemonSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Actions) > 0 || p.Status != nil || len(p.Events) != 1 || p.Events[0].Reason != "SelectingAll" {
		t.Errorf("plan %+v", p)
	}
}

func TestNodesWakeOnlyThoseThatCare(t *testing.T) {
	w := newWorld(t, []string{"n1", "n2 other", "n3 NoSchedule"})
	for _, tc := range []struct {
		old, node *corev1.Node
		want      bool
	}{
		{nil, w.Nodes[0], true},
		{nil, w.Nodes[1], false},
		{w.Nodes[0], w.Nodes[0], false},
		{w.Nodes[0], w.Nodes[1], true},
		{w.Nodes[0], w.Nodes[2], true},
		{w.Nodes[2], w.Nodes[1], true},
	} {
		if got := Concerns(w.DaemonSet, tc.old, tc.node); got != tc.want {
			t.Errorf("from %v to %s: %v", tc.old, tc.node.Name, got)
		}
	}
}
