package decide

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/controllers/internal/history"
	"minikcm.dev/minikcm/controllers/internal/plan"
)

var now = time.Unix(1_000_000, 0)

// world is the snapshot of a decision; the revisions "old" and "new" exist in it.
type world struct {
	Snapshot
	old, new *appsv1.ControllerRevision
	claims   map[string]*corev1.PersistentVolumeClaim
}

// newWorld returns a world with a set of that many replicas, in the middle of an update
// from the image "old" to the image "new".
func newWorld(t testing.TB, replicas int32, changes ...func(s *appsv1.StatefulSet)) *world {
	t.Helper()
	labels := map[string]string{"app": "web"}
	s := &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "web", UID: "set", Generation: 3},
		Spec: appsv1.StatefulSetSpec{
			Replicas: &replicas, Selector: &metav1.LabelSelector{MatchLabels: labels}, ServiceName: "svc",
			Template:       corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}},
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{}},
		},
	}
	for _, change := range changes {
		change(s)
	}
	w := &world{claims: map[string]*corev1.PersistentVolumeClaim{}}
	w.old, w.new = revision(t, s, "old", 1), revision(t, s, "new", 2)
	s.Status.CurrentRevision = w.old.Name
	w.Snapshot = Snapshot{
		Set: s, Revisions: []*appsv1.ControllerRevision{w.new, w.old},
		Claim: func(name string) *corev1.PersistentVolumeClaim { return w.claims[name] },
	}
	return w
}

// revision sets the image and returns the revision of the resulting template.
func revision(t testing.TB, s *appsv1.StatefulSet, image string, number int64) *appsv1.ControllerRevision {
	t.Helper()
	s.Spec.Template.Spec.Containers = []corev1.Container{{Name: "c", Image: image}}
	data, err := history.Data(&s.Spec.Template)
	if err != nil {
		t.Fatal(err)
	}
	r := history.Newborn{Owner: s, OwnerKind: Kind, Data: data, Labels: s.Spec.Template.Labels, HashLabel: hashLabel, Hash: history.Hash(data, 0)}.Revision()
	r.Revision, r.UID = number, types.UID(image)
	return r
}

// pods adds pods, each described by its ordinal and words: new or old, and ready, pending,
// failed, succeeded or going.
func (w *world) pods(all ...string) *world {
	for _, text := range all {
		words := strings.Fields(text)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: "a", Name: "web-" + words[0], UID: types.UID("pod-" + words[0]),
				Labels:          map[string]string{"app": "web", appsv1.StatefulSetPodNameLabel: "web-" + words[0], appsv1.StatefulSetRevisionLabel: w.new.Name},
				OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(w.Set, Kind)},
			},
			Status: corev1.PodStatus{Phase: corev1.PodRunning},
		}
		for _, word := range words[1:] {
			switch word {
			case "old":
				pod.Labels[appsv1.StatefulSetRevisionLabel] = w.old.Name
			case "ready", "justready":
				since := metav1.NewTime(now.Add(-time.Hour))
				if word == "justready" {
					since = metav1.NewTime(now.Add(-time.Second))
				}
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: since}}
			case "pending":
				pod.Status.Phase = corev1.PodPending
			case "failed":
				pod.Status.Phase = corev1.PodFailed
			case "succeeded":
				pod.Status.Phase = corev1.PodSucceeded
			case "going":
				at := metav1.NewTime(now)
				pod.DeletionTimestamp = &at
			case "orphan":
				pod.OwnerReferences = nil
			case "unmarked":
				delete(pod.Labels, appsv1.StatefulSetPodNameLabel)
			case "alien":
				pod.Labels["app"] = "other"
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
				line += " " + pod.Spec.Containers[0].Image
			}
			if claim, ok := o.(*corev1.PersistentVolumeClaim); ok {
				for _, ref := range claim.OwnerReferences {
					line += " of " + ref.Name
				}
			}
			line = strings.ReplaceAll(line, w.old.Name, "revision-old")
			lines = append(lines, strings.ReplaceAll(line, w.new.Name, "revision-new"))
		}
	}
	return lines
}

func parallel(s *appsv1.StatefulSet) { s.Spec.PodManagementPolicy = appsv1.ParallelPodManagement }

func onDelete(s *appsv1.StatefulSet) {
	s.Spec.UpdateStrategy = appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}
}

func from(start int32) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.Ordinals = &appsv1.StatefulSetOrdinals{Start: start} }
}

func partitioned(n int32) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) { s.Spec.UpdateStrategy.RollingUpdate.Partition = &n }
}

func most(value string) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		v := intstr.Parse(value)
		s.Spec.UpdateStrategy.RollingUpdate.MaxUnavailable = &v
	}
}

func settling(s *appsv1.StatefulSet) { s.Spec.MinReadySeconds = 10 }

func TestDecide(t *testing.T) {
	type change = func(s *appsv1.StatefulSet)
	for name, tc := range map[string]struct {
		replicas int32
		changes  []change
		pods     []string
		want     []string
	}{
		"the first pod":                      {3, nil, nil, []string{"create web-0 new"}},
		"the next waits":                     {3, nil, []string{"0"}, nil},
		"the next comes":                     {3, nil, []string{"0 ready"}, []string{"create web-1 new"}},
		"a gap comes first":                  {3, nil, []string{"0 ready", "2 ready"}, []string{"create web-1 new"}},
		"it waits for what is going":         {3, nil, []string{"0 ready going", "1 ready"}, nil},
		"it waits for minReadySeconds":       {2, []change{settling}, []string{"0 justready"}, nil},
		"all at once":                        {3, []change{parallel}, nil, []string{"create web-0 new", "create web-1 new", "create web-2 new"}},
		"all that are missing":               {3, []change{parallel}, []string{"1"}, []string{"create web-0 new", "create web-2 new"}},
		"other ordinals":                     {2, []change{from(3), parallel}, nil, []string{"create web-3 new", "create web-4 new"}},
		"old ones below the partition":       {2, []change{partitioned(1), parallel}, nil, []string{"create web-0 old", "create web-1 new"}},
		"new ones with OnDelete":             {2, []change{onDelete, parallel}, nil, []string{"create web-0 new", "create web-1 new"}},
		"the start shifts the partition":     {2, []change{partitioned(1), from(5), parallel}, nil, []string{"create web-5 old", "create web-6 new"}},
		"a failed one goes":                  {2, nil, []string{"0 failed", "1 ready"}, []string{"delete web-0"}},
		"a succeeded one too":                {2, []change{parallel}, []string{"0 ready", "1 succeeded"}, []string{"delete web-1"}},
		"once":                               {2, nil, []string{"0 failed going"}, nil},
		"too many, from the top":             {1, nil, []string{"0 ready", "1 ready", "2 ready"}, []string{"delete web-2"}},
		"one at a time":                      {1, nil, []string{"0 ready", "1 ready", "2 ready going"}, nil},
		"not while one is not ready":         {1, nil, []string{"0", "1 ready"}, nil},
		"nor while another is not":           {1, nil, []string{"0 ready", "1", "2"}, nil},
		"but the one itself":                 {1, nil, []string{"0 ready", "1 ready", "2"}, []string{"delete web-2"}},
		"even if it has just become ready":   {1, []change{settling}, []string{"0 ready", "1 justready"}, []string{"delete web-1"}},
		"too many at once":                   {1, []change{parallel}, []string{"0", "1 ready", "2"}, []string{"delete web-2", "delete web-1"}},
		"below the start":                    {1, []change{from(2)}, []string{"0 ready", "1 ready", "2 ready"}, []string{"delete web-1"}},
		"updates from the top":               {3, nil, []string{"0 ready old", "1 ready old", "2 ready old"}, []string{"delete web-2"}},
		"the next update":                    {3, nil, []string{"0 ready old", "1 ready old", "2 ready"}, []string{"delete web-1"}},
		"updates wait":                       {3, nil, []string{"0 ready old", "1 ready old", "2"}, nil},
		"updates wait for minReadySeconds":   {3, []change{settling, parallel}, []string{"0 ready old", "1 ready old", "2 justready"}, nil},
		"two at a time":                      {4, []change{most("2")}, []string{"0 ready old", "1 ready old", "2 ready old", "3 ready old"}, []string{"delete web-3", "delete web-2"}},
		"a share is rounded down":            {3, []change{most("50%")}, []string{"0 ready old", "1 ready old", "2 ready old"}, []string{"delete web-2"}},
		"but not to nothing":                 {3, []change{most("10%")}, []string{"0 ready old", "1 ready old", "2 ready old"}, []string{"delete web-2"}},
		"not below the partition":            {3, []change{partitioned(2)}, []string{"0 ready old", "1 ready old", "2 ready"}, nil},
		"nothing with OnDelete":              {2, []change{onDelete}, []string{"0 ready old", "1 ready old"}, nil},
		"broken old ones block":              {2, nil, []string{"0 ready old", "1 old"}, nil},
		"but not when parallel":              {3, []change{parallel}, []string{"0 old", "1 ready old", "2 old"}, []string{"delete web-2", "delete web-0"}},
		"an orphan is adopted":               {1, nil, []string{"0 ready orphan"}, []string{"adopt web-0"}},
		"and identified":                     {1, nil, []string{"0 ready orphan unmarked"}, []string{"adopt web-0", "update web-0"}},
		"one of another name is not":         {0, nil, []string{"x ready orphan"}, nil},
		"it waits for the name":              {1, nil, []string{"0 ready orphan alien"}, nil},
		"what the selector loses is let go":  {1, nil, []string{"0 ready alien"}, []string{"release web-0"}},
		"the name does not make it a member": {0, nil, []string{"x ready"}, []string{"release web-x"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.replicas, tc.changes...).pods(tc.pods...)
			p, err := StatefulSet(w.Snapshot, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, did(w, p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

// claiming gives each pod of the set a claim, with a retention policy.
func claiming(deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType) func(s *appsv1.StatefulSet) {
	return func(s *appsv1.StatefulSet) {
		s.Spec.VolumeClaimTemplates = []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}}
		s.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{WhenDeleted: deleted, WhenScaled: scaled}
	}
}

// claim adds the claim of the first pod.
func (w *world) claim(owners []metav1.OwnerReference, going bool) {
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "a", Name: "data-web-0", OwnerReferences: owners}}
	if going {
		claim.DeletionTimestamp = ptr.To(metav1.NewTime(now))
	}
	w.claims[claim.Name] = claim
}

func TestClaims(t *testing.T) {
	const remove, retain = appsv1.DeletePersistentVolumeClaimRetentionPolicyType, appsv1.RetainPersistentVolumeClaimRetentionPolicyType
	set, pod := metav1.OwnerReference{Kind: "StatefulSet", Name: "web", UID: "set"}, metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "web-0", UID: "pod-0"}
	control := func(ref metav1.OwnerReference) []metav1.OwnerReference {
		yes := true
		ref.Controller = &yes
		return []metav1.OwnerReference{ref}
	}
	stranger, other := set, metav1.OwnerReference{Kind: "Backup", Name: "nightly", UID: "backup"}
	stranger.UID = "another"
	for name, tc := range map[string]struct {
		deleted, scaled appsv1.PersistentVolumeClaimRetentionPolicyType
		replicas        int32
		pods            string
		claim           []metav1.OwnerReference // nil: the claim does not exist
		going           bool
		want            []string
	}{
		"made before the pod":             {retain, retain, 1, "", nil, false, []string{"create data-web-0", "create web-0 new"}},
		"made of the set":                 {remove, retain, 1, "", nil, false, []string{"create data-web-0 of web", "create web-0 new"}},
		"used again":                      {retain, retain, 1, "", []metav1.OwnerReference{}, false, []string{"create web-0 new"}},
		"waited for, if it is going":      {retain, retain, 1, "", []metav1.OwnerReference{}, true, nil},
		"waited for, if it is the last":   {retain, remove, 1, "", control(pod), false, nil},
		"created for a pending pod":       {retain, retain, 1, "0 pending", nil, false, []string{"create data-web-0"}},
		"given to the set":                {remove, remove, 1, "0 ready", []metav1.OwnerReference{}, false, []string{"update data-web-0 of web"}},
		"taken from the set":              {retain, retain, 1, "0 ready", control(set), false, []string{"update data-web-0"}},
		"given to the pod":                {retain, remove, 0, "0 ready", []metav1.OwnerReference{}, false, []string{"update data-web-0 of web-0", "delete web-0"}},
		"handed from set to pod":          {remove, remove, 0, "0 ready", control(set), false, []string{"update data-web-0 of web-0", "delete web-0"}},
		"taken from the pod":              {retain, remove, 1, "0 ready", control(pod), false, []string{"update data-web-0"}},
		"left to a stranger":              {remove, remove, 1, "0 ready", control(stranger), false, nil},
		"not left to a user's reference":  {retain, retain, 1, "0 ready", []metav1.OwnerReference{set}, false, []string{"update data-web-0"}},
		"nor as one that rules nothing":   {remove, retain, 1, "0 ready", []metav1.OwnerReference{set}, false, []string{"update data-web-0 of web"}},
		"given to the set with a new pod": {remove, retain, 1, "", []metav1.OwnerReference{}, false, []string{"update data-web-0 of web", "create web-0 new"}},
		"and with a pending one":          {remove, retain, 1, "0 pending", []metav1.OwnerReference{}, false, []string{"update data-web-0 of web"}},
		"left to another controller":      {remove, retain, 1, "0 ready", control(other), false, nil},
		"even by the set":                 {remove, retain, 1, "0 ready", append(control(other), control(set)...), false, []string{"update data-web-0 of nightly"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, tc.replicas, claiming(tc.deleted, tc.scaled))
			if tc.pods != "" {
				w.pods(tc.pods)
			}
			if tc.claim != nil {
				w.claim(tc.claim, tc.going)
			}
			p, err := StatefulSet(w.Snapshot, now)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, did(w, p)); diff != "" {
				t.Errorf("actions (-want +got):\n%s", diff)
			}
		})
	}
}

func TestRevisions(t *testing.T) {
	limit := int32(1)
	limited := func(s *appsv1.StatefulSet) { s.Spec.RevisionHistoryLimit = &limit }
	t.Run("the first", func(t *testing.T) {
		w := newWorld(t, 0)
		w.Revisions = nil
		p, err := StatefulSet(w.Snapshot, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"create revision-new"}, did(w, p)); diff != "" {
			t.Errorf("actions (-want +got):\n%s", diff)
		}
		if p.Status.CurrentRevision != w.new.Name || p.Status.UpdateRevision != w.new.Name {
			t.Errorf("status %+v", p.Status)
		}
	})
	t.Run("an old one again", func(t *testing.T) {
		w := newWorld(t, 0)
		w.new.Revision, w.old.Revision = 1, 2
		p, err := StatefulSet(w.Snapshot, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"update revision-new"}, did(w, p)); diff != "" {
			t.Errorf("actions (-want +got):\n%s", diff)
		}
		if got := p.Actions[0].Objects[0].(*appsv1.ControllerRevision).Revision; got != 3 {
			t.Errorf("its number is %d", got)
		}
	})
	t.Run("too many", func(t *testing.T) {
		w := newWorld(t, 1, limited).pods("0 ready")
		w.Pods[0].Labels[appsv1.StatefulSetRevisionLabel] = "used"
		for i, name := range []string{"oldest", "used", "older"} {
			r := w.old.DeepCopy()
			r.Name, r.Revision, r.Data.Raw = name, int64(i-3), []byte(fmt.Sprint(i))
			w.Revisions = append(w.Revisions, r)
		}
		p, err := StatefulSet(w.Snapshot, now)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"delete web-0", "delete oldest"}, did(w, p)); diff != "" {
			t.Errorf("actions (-want +got):\n%s", diff)
		}
	})
}

func TestStatus(t *testing.T) {
	w := newWorld(t, 4, settling, parallel).pods("0 ready old", "1 justready", "2 going ready", "3 pending")
	p, err := StatefulSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	none := int32(0)
	want := &appsv1.StatefulSetStatus{
		ObservedGeneration: 3, Replicas: 4, ReadyReplicas: 3, CurrentReplicas: 1, UpdatedReplicas: 2, AvailableReplicas: 2,
		CurrentRevision: w.old.Name, UpdateRevision: w.new.Name, CollisionCount: &none,
	}
	if diff := cmp.Diff(want, p.Status); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if p.RequeueAfter != 9*time.Second {
		t.Errorf("it is looked at again after %v", p.RequeueAfter)
	}
}

// TestCompletion checks that an update completes, with any strategy.
func TestCompletion(t *testing.T) {
	t.Run("RollingUpdate", func(t *testing.T) { testCompletion(t) })
	t.Run("OnDelete", func(t *testing.T) { testCompletion(t, onDelete) })
}

func testCompletion(t *testing.T, changes ...func(s *appsv1.StatefulSet)) {
	t.Helper()
	w := newWorld(t, 2, changes...).pods("0 ready", "1 ready")
	p, err := StatefulSet(w.Snapshot, now)
	if err != nil {
		t.Fatal(err)
	}
	if p.Status.CurrentRevision != w.new.Name || p.Status.CurrentReplicas != 2 {
		t.Errorf("status %+v", p.Status)
	}
	update := Conclude(w.Set, p, true)
	if update == nil || *update.Status.CollisionCount != 1 || update.Status.CurrentRevision != w.old.Name {
		t.Errorf("after a collision: %+v", update)
	}
	done := *w.Set
	done.Status = *p.Status
	if Conclude(&done, p, false) != nil {
		t.Error("a status is written that is there already")
	}
}

func TestNothingIsDoneForADeletedSet(t *testing.T) {
	w := newWorld(t, 3).pods("0 ready")
	at := metav1.NewTime(now)
	w.Set.DeletionTimestamp = &at
	p, err := StatefulSet(w.Snapshot, now)
	if err != nil || len(p.Actions) != 0 || p.Status.ReadyReplicas != 1 {
		t.Errorf("plan %+v, error %v", p, err)
	}
}

func TestSplitOrdinal(t *testing.T) {
	for name, want := range map[string]struct {
		parent  string
		ordinal int
		ok      bool
	}{
		"web-0": {"web", 0, true}, "a-b-12": {"a-b", 12, true}, "web-01": {}, "web-": {}, "web": {}, "-1": {}, "web--1": {"web-", 1, true}, "web-99999999999": {},
	} {
		if parent, ordinal, ok := SplitOrdinal(name); parent != want.parent || ordinal != want.ordinal || ok != want.ok {
			t.Errorf("splitOrdinal(%q) = %q, %d, %v", name, parent, ordinal, ok)
		}
	}
}
