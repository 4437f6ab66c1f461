package admission

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources"
)

// amounts parses "cpu", "100m", "memory", "1Gi" as a list.
func amounts(pairs ...string) corev1.ResourceList {
	list := corev1.ResourceList{}
	for i := 0; i < len(pairs); i += 2 {
		list[corev1.ResourceName(pairs[i])] = resource.MustParse(pairs[i+1])
	}
	return list
}

func limitedBy(items ...corev1.LimitRangeItem) LimitRanger {
	limits := &corev1.LimitRange{Spec: corev1.LimitRangeSpec{Limits: items}}
	return LimitRanger{In: func(context.Context, string) ([]*corev1.LimitRange, error) { return []*corev1.LimitRange{limits}, nil }}
}

func podOf(requests, limits corev1.ResourceList) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits}}},
	}}
}

func creating(obj runtime.Object, kind, plural string) *Attributes {
	row := &resources.Resource{GroupVersionKind: corev1.SchemeGroupVersion.WithKind(kind), Plural: plural}
	return &Attributes{Operation: Create, Resource: row, Namespace: "default", Name: "p", Object: obj}
}

func textOf(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLimitRangerGivesDefaults(t *testing.T) {
	plugin := limitedBy(corev1.LimitRangeItem{
		Type: corev1.LimitTypeContainer, Default: amounts("cpu", "1", "memory", "1Gi"), DefaultRequest: amounts("cpu", "100m"),
	})
	pod := podOf(nil, amounts("memory", "2Gi"))
	pod.Spec.InitContainers = []corev1.Container{{Name: "i"}}
	if err := plugin.Mutate(context.Background(), creating(pod, "Pod", "pods")); err != nil {
		t.Fatal(err)
	}
	want := podOf(amounts("cpu", "100m"), amounts("cpu", "1", "memory", "2Gi"))
	want.Annotations = map[string]string{limitRangerAnnotation: "LimitRanger plugin set: cpu request for container c; cpu limit for container c; " +
		"cpu request for init container i; cpu, memory limit for init container i"}
	want.Spec.InitContainers = []corev1.Container{{Name: "i", Resources: corev1.ResourceRequirements{
		Requests: amounts("cpu", "100m"), Limits: amounts("cpu", "1", "memory", "1Gi"),
	}}}
	if diff := cmp.Diff(want, pod); diff != "" {
		t.Error(diff)
	}
}

func TestLimitRangerRefusesPods(t *testing.T) {
	least := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Min: amounts("cpu", "100m")}
	most := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, Max: amounts("cpu", "1")}
	ratio := corev1.LimitRangeItem{Type: corev1.LimitTypeContainer, MaxLimitRequestRatio: amounts("cpu", "2")}
	whole := corev1.LimitRangeItem{Type: corev1.LimitTypePod, Max: amounts("cpu", "1")}
	for _, tc := range []struct {
		name string
		item corev1.LimitRangeItem
		pod  *corev1.Pod
		want string
	}{
		{"within", least, podOf(amounts("cpu", "100m"), nil), ""},
		{"nothing asked for", least, podOf(nil, nil), `pods "p" is forbidden: minimum cpu usage per Container is 100m.  No request is specified`},
		{"too little", least, podOf(amounts("cpu", "50m"), nil), `pods "p" is forbidden: minimum cpu usage per Container is 100m, but request is 50m`},
		{"limit too low", least, podOf(amounts("cpu", "100m"), amounts("cpu", "50m")), `pods "p" is forbidden: minimum cpu usage per Container is 100m, but limit is 50m`},
		{"no limit", most, podOf(nil, nil), `pods "p" is forbidden: maximum cpu usage per Container is 1.  No limit is specified`},
		{"limit too high", most, podOf(nil, amounts("cpu", "1100m")), `pods "p" is forbidden: maximum cpu usage per Container is 1, but limit is 1100m`},
		{"request too high", most, podOf(amounts("cpu", "2"), amounts("cpu", "1")), `pods "p" is forbidden: maximum cpu usage per Container is 1, but request is 2`},
		{"ratio kept", ratio, podOf(amounts("cpu", "1"), amounts("cpu", "2")), ""},
		{"ratio", ratio, podOf(amounts("cpu", "1"), amounts("cpu", "3")), `pods "p" is forbidden: cpu max limit to request ratio per Container is 2, but provided ratio is 3.000000`},
		{"ratio without limit", ratio, podOf(amounts("cpu", "1"), nil), `pods "p" is forbidden: cpu max limit to request ratio per Container is 2, but no limit is specified or limit is 0`},
		{"pod", whole, podOf(nil, amounts("cpu", "2")), `pods "p" is forbidden: maximum cpu usage per Pod is 1, but limit is 2`},
	} {
		t.Run(tc.name, func(t *testing.T) {
			if got := textOf(limitedBy(tc.item).Check(context.Background(), creating(tc.pod, "Pod", "pods"))); got != tc.want {
				t.Errorf("Check() = %q, want %q", got, tc.want)
			}
		})
	}
}

func TestLimitRangerRefusesClaims(t *testing.T) {
	plugin := limitedBy(corev1.LimitRangeItem{Type: corev1.LimitTypePersistentVolumeClaim, Min: amounts("storage", "1Gi"), Max: amounts("storage", "2Gi")})
	for size, want := range map[string]string{
		"1Gi": "",
		"1Mi": `persistentvolumeclaims "p" is forbidden: minimum storage usage per PersistentVolumeClaim is 1Gi, but request is 1Mi`,
		"1Ti": `persistentvolumeclaims "p" is forbidden: maximum storage usage per PersistentVolumeClaim is 2Gi, but request is 1Ti`,
	} {
		claim := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{Resources: corev1.VolumeResourceRequirements{Requests: amounts("storage", size)}}}
		if got := textOf(plugin.Check(context.Background(), creating(claim, "PersistentVolumeClaim", "persistentvolumeclaims"))); got != want {
			t.Errorf("Check(%s) = %q, want %q", size, got, want)
		}
	}
}

func TestRuntimeClass(t *testing.T) {
	classes := map[string]*nodev1.RuntimeClass{
		"heavy": {Overhead: &nodev1.Overhead{PodFixed: amounts("cpu", "1")}},
		"gpu": {Scheduling: &nodev1.Scheduling{
			NodeSelector: map[string]string{"gpu": "yes"}, Tolerations: []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}},
		}},
	}
	plugin := RuntimeClass{Get: func(_ context.Context, name string) (*nodev1.RuntimeClass, error) {
		if class := classes[name]; class != nil {
			return class, nil
		}
		return nil, apierrors.NewNotFound(nodev1.Resource("runtimeclasses"), name)
	}}
	spec := func(class string, change func(*corev1.PodSpec)) *corev1.Pod {
		pod := podOf(nil, nil)
		if class != "" {
			pod.Spec.RuntimeClassName = ptr.To(class)
		}
		if change != nil {
			change(&pod.Spec)
		}
		return pod
	}
	for _, tc := range []struct {
		name string
		pod  *corev1.Pod
		want *corev1.Pod
		err  string
	}{
		{"no class", spec("", nil), spec("", nil), ""},
		{"unknown", spec("none", nil), nil, `pods "p" is forbidden: pod rejected: RuntimeClass "none" not found`},
		{"overhead", spec("heavy", nil), spec("heavy", func(s *corev1.PodSpec) { s.Overhead = amounts("cpu", "1") }), ""},
		{
			"another overhead", spec("heavy", func(s *corev1.PodSpec) { s.Overhead = amounts("cpu", "2") }), nil,
			`pods "p" is forbidden: pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead`,
		},
		{
			"overhead without class", spec("", func(s *corev1.PodSpec) { s.Overhead = amounts("cpu", "2") }), nil,
			`pods "p" is forbidden: pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead`,
		},
		{"scheduling", spec("gpu", nil), spec("gpu", func(s *corev1.PodSpec) {
			s.NodeSelector, s.Tolerations = map[string]string{"gpu": "yes"}, []corev1.Toleration{{Key: "gpu", Operator: corev1.TolerationOpExists}}
		}), ""},
		{
			"conflict", spec("gpu", func(s *corev1.PodSpec) { s.NodeSelector = map[string]string{"gpu": "no"} }), nil,
			`pods "p" is forbidden: conflict: runtimeClass.scheduling.nodeSelector[gpu] = yes; pod.spec.nodeSelector[gpu] = no`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			a := creating(tc.pod, "Pod", "pods")
			err := plugin.Mutate(context.Background(), a)
			if err == nil {
				err = plugin.Check(context.Background(), a)
			}
			if got := textOf(err); got != tc.err {
				t.Fatalf("the error is %q, want %q", got, tc.err)
			}
			if tc.want != nil {
				if diff := cmp.Diff(tc.want, tc.pod); diff != "" {
					t.Error(diff)
				}
			}
		})
	}
}
