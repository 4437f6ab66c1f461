package drain

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

func pod(name string, change ...func(*corev1.Pod)) corev1.Pod {
	p := corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}, Status: corev1.PodStatus{Phase: corev1.PodRunning}}
	for _, c := range change {
		c(&p)
	}
	return p
}

func of(kind, name string) func(*corev1.Pod) {
	return func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: kind, Name: name, Controller: ptr.To(true)}}
	}
}

func local(p *corev1.Pod) {
	p.Spec.Volumes = []corev1.Volume{{Name: "scratch", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}}}
}

func ended(p *corev1.Pod) { p.Status.Phase = corev1.PodSucceeded }

func mirror(p *corev1.Pod) { p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"} }

// The pods of a node, by what kubectl drain says about them.
func TestSelect(t *testing.T) {
	pods := []corev1.Pod{
		pod("web", of("ReplicaSet", "web")), pod("agent", of("DaemonSet", "agent")), pod("orphan", of("DaemonSet", "gone")), pod("done", of("DaemonSet", "agent"), ended),
		pod("cache", of("ReplicaSet", "cache"), local), pod("bare"), pod("bare-cache", local), pod("bare-done", ended, local), pod("static", mirror),
	}
	const (
		local     = "cannot delete Pods with local storage (use --delete-emptydir-data to override): "
		unmanaged = "cannot delete Pods that declare no controller (use --force to override): default/bare"
		orphan    = `cannot delete daemonsets.apps "gone" not found: default/orphan`
		ignored   = "ignoring DaemonSet-managed Pods: default/agent"
	)
	for name, test := range map[string]struct {
		opts                      Options
		evict, refusals, warnings []string
	}{
		"neither": {Options{}, []string{"web", "done", "bare-done"}, []string{unmanaged, local + "default/cache, default/bare-cache", orphan}, []string{ignored}},
		"force": {Options{Force: true}, []string{"web", "orphan", "done", "bare", "bare-done"}, []string{local + "default/cache, default/bare-cache"}, []string{
			`daemonsets.apps "gone" not found: default/orphan`, "deleting Pods that declare no controller: default/bare", ignored,
		}},
		"local data": {Options{DeleteEmptyDirData: true}, []string{"web", "done", "cache", "bare-done"}, []string{unmanaged + ", default/bare-cache", orphan}, []string{
			"deleting Pods with local storage: default/cache", ignored,
		}},
		"both": {Options{Force: true, DeleteEmptyDirData: true}, []string{"web", "orphan", "done", "cache", "bare", "bare-cache", "bare-done"}, nil, []string{
			`daemonsets.apps "gone" not found: default/orphan`, "deleting Pods that declare no controller: default/bare, default/bare-cache", "deleting Pods with local storage: default/cache", ignored,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := Select(pods, test.opts, func(_, name string) (bool, error) { return name == "gone", nil })
			if err != nil {
				t.Fatal(err)
			}
			var evict []string
			for i := range s.Evict {
				evict = append(evict, s.Evict[i].Name)
			}
			if !slices.Equal(evict, test.evict) {
				t.Errorf("evicts %v, want %v", evict, test.evict)
			}
			if !slices.Equal(s.Refusals, test.refusals) {
				t.Errorf("refuses for %q, want %q", s.Refusals, test.refusals)
			}
			if !slices.Equal(s.Warnings, test.warnings) {
				t.Errorf("warns of %q, want %q", s.Warnings, test.warnings)
			}
		})
	}
}
