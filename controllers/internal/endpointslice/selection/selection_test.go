package selection

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"

	"minikcm.dev/minikcm/internal/loop"
)

func newSelection(t *testing.T, objects ...any) *Selection {
	t.Helper()
	factory := informers.NewSharedInformerFactory(nil, 0)
	pods, services := factory.Core().V1().Pods().Informer().GetIndexer(), factory.Core().V1().Services().Informer().GetIndexer()
	s, err := New(pods, services)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := New(pods, services); err != nil {
		t.Fatalf("a second user of the same informers: %v", err)
	}
	for _, object := range objects {
		indexer := s.pods
		if _, is := object.(*corev1.Service); is {
			indexer = s.services
		}
		if err := indexer.Add(object); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func testPod(namespace, name string, podLabels map[string]string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Labels: podLabels},
		Status:     corev1.PodStatus{PodIP: "10.0.0.1", PodIPs: []corev1.PodIP{{IP: "10.0.0.1"}}},
	}
}

func testService(namespace, name string, selector map[string]string) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       corev1.ServiceSpec{Selector: selector},
	}
}

func TestPodsAndServicesFindEachOther(t *testing.T) {
	web := map[string]string{"app": "web"}
	webBlue := map[string]string{"app": "web", "track": "blue"}
	s := newSelection(t,
		testPod("a", "2", webBlue), testPod("a", "1", web), testPod("a", "3", nil), testPod("b", "1", web),
		testService("a", "web", web), testService("a", "blue", webBlue), testService("a", "none", nil),
	)
	for name, tt := range map[string]struct {
		selector map[string]string
		want     []string
	}{
		"one label":  {web, []string{"1", "2"}},
		"two labels": {webBlue, []string{"2"}},
		"no pod has": {map[string]string{"app": "db"}, nil},
		"all pods":   {map[string]string{}, []string{"1", "2", "3"}},
	} {
		t.Run(name, func(t *testing.T) {
			pods, err := s.Pods("a", tt.selector)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, pod := range pods {
				got = append(got, pod.Name)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
	if got := s.Services("a", webBlue); len(got) != 2 {
		t.Errorf("services of the blue pod: %v", got)
	}
	want := []types.NamespacedName{{Namespace: "a", Name: "web"}}
	if diff := cmp.Diff(want, s.Services("a", web)); diff != "" {
		t.Error(diff)
	}
}

func TestWake(t *testing.T) {
	web, db := map[string]string{"app": "web"}, map[string]string{"app": "db"}
	s := newSelection(t, testService("a", "web", web), testService("a", "db", db))
	base := testPod("a", "1", web)
	change := func(f func(*corev1.Pod)) *corev1.Pod {
		pod := base.DeepCopy()
		f(pod)
		return pod
	}
	addressless := change(func(p *corev1.Pod) { p.Status = corev1.PodStatus{} })
	for name, tt := range map[string]struct {
		old, pod *corev1.Pod
		want     int
	}{
		"came with address":    {nil, base, 1},
		"came without":         {nil, addressless, 0},
		"got its address":      {addressless, base, 1},
		"nothing changed":      {base, base.DeepCopy(), 0},
		"labels moved":         {base, change(func(p *corev1.Pod) { p.Labels = db }), 2},
		"ended for good":       {base, change(func(p *corev1.Pod) { p.Status.Phase = corev1.PodFailed }), 1},
		"terminating":          {base, change(func(p *corev1.Pod) { p.DeletionTimestamp = &metav1.Time{Time: time.Unix(1, 0)} }), 1},
		"ready":                {base, change(func(p *corev1.Pod) { p.Status.Conditions = ready() }), 1},
		"annotated":            {base, change(func(p *corev1.Pod) { p.Annotations = db }), 0},
		"addressless, changed": {addressless, change(func(p *corev1.Pod) { p.Status = corev1.PodStatus{Phase: corev1.PodPending} }), 0},
	} {
		t.Run(name, func(t *testing.T) {
			ev := loop.Event{Type: loop.Added, Object: tt.pod}
			if tt.old != nil {
				ev.Type, ev.Old = loop.Updated, tt.old
			}
			if got := s.Wake(ev); len(got) != tt.want {
				t.Errorf("Wake() = %v, want %d", got, tt.want)
			}
		})
	}
}

func ready() []corev1.PodCondition {
	return []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
}

func TestBatchesGrowWithTheService(t *testing.T) {
	var b Batch
	key := types.NamespacedName{Namespace: "a", Name: "web"}
	for _, tt := range []struct {
		pods int
		want time.Duration
	}{{0, 0}, {100, 0}, {2000, 200 * time.Millisecond}, {100000, 500 * time.Millisecond}, {3, 0}} {
		b.Computed(key, tt.pods)
		if got := b.Delay(key); got != tt.want {
			t.Errorf("Delay() with %d pods = %v, want %v", tt.pods, got, tt.want)
		}
	}
}
