package quantityguard

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/resource"
)

func TestInJSON(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		of   any
		json string
		want string
	}{
		"in a template": {
			of: batchv1.CronJob{}, json: `{"spec":{"jobTemplate":{"spec":{"template":{"spec":{"initContainers":[{},{"resources":{"limits":{"memory":"1e9999"}}}]}}}}}}`,
			want: `spec.jobTemplate.spec.template.spec.initContainers[1].resources.limits[memory]`,
		},
		"behind a pointer": {
			of: autoscalingv2.HorizontalPodAutoscaler{}, json: `{"spec":{"metrics":[{"pods":{"target":{"averageValue":"1E-9999"}}}]}}`,
			want: `spec.metrics[0].pods.target.averageValue`,
		},
		"in a capacity":              {of: resourcev1.ResourceSlice{}, json: `{"spec":{"devices":[{"capacity":{"memory":{"value":"1e+12345"}}}]}}`, want: `spec.devices[0].capacity[memory].value`},
		"a number":                   {of: corev1.ResourceQuota{}, json: `{"spec":{"hard":{"pods":1e12345}}}`, want: `spec.hard[pods]`},
		"too many digits":            {of: corev1.ResourceQuota{}, json: `{"spec":{"hard":{"pods":"` + strings.Repeat("1", maxText+1) + `"}}}`, want: `spec.hard[pods]`},
		"in an inline field":         {of: corev1.Volume{}, json: `{"emptyDir":{"sizeLimit":"1e9999"}}`, want: `emptyDir.sizeLimit`},
		"of a key that occurs twice": {of: corev1.ResourceQuota{}, json: `{"spec":{"hard":{"pods":"1e9999","pods":"1"},"hard":{}},"spec":{}}`, want: `spec.hard[pods]`},
		"three digits":               {of: corev1.ResourceQuota{}, json: `{"spec":{"hard":{"pods":"1e-999"}}}`},
		"in other text":              {of: corev1.Pod{}, json: `{"metadata":{"labels":{"a":"1e99999"}},"spec":{"containers":[{"name":"1e99999","env":[{"name":"a","value":"1e-99999"}]}]}}`},
		"unknown fields":             {of: corev1.Pod{}, json: `{"limits":{"cpu":"1e99999"},"spec":[]}`},
		"no JSON":                    {of: corev1.Pod{}, json: `{`},
	} {
		err := InJSON([]byte(test.json), reflect.TypeOf(test.of))
		if (err != nil) != (test.want != "") || err != nil && !strings.HasPrefix(err.Error(), test.want+": ") {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && !Suspect([]byte(test.json)) {
			t.Errorf("%s is not suspect", name)
		}
	}
}

// TestInProtobuf replaces the text of quantities in messages by some of the same length.
func TestInProtobuf(t *testing.T) {
	t.Parallel()
	const valid, slow = "123456789", "1e-999999"
	list := corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(valid)}
	limit := resource.MustParse(valid)
	pod := &corev1.Pod{Spec: corev1.PodSpec{Overhead: list, Volumes: []corev1.Volume{{VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{SizeLimit: &limit}}}}}}
	quota := &corev1.ResourceQuota{Status: corev1.ResourceQuotaStatus{Used: list}}
	labelled := &corev1.Pod{}
	labelled.Labels = map[string]string{valid: valid}
	for _, test := range []struct {
		object interface{ Marshal() ([]byte, error) }
		found  bool
	}{{pod, true}, {quota, true}, {labelled, false}, {&corev1.Pod{}, false}} {
		message, err := test.object.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		of := reflect.TypeOf(test.object)
		if err := InProtobuf(message, of); err != nil {
			t.Errorf("%v: %v", of, err)
		}
		message = []byte(strings.ReplaceAll(string(message), valid, slow))
		if err := InProtobuf(message, of); (err != nil) != test.found || test.found && !Suspect(message) {
			t.Errorf("%v with %s: %v", of, slow, err)
		}
	}
}

func TestSuspect(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		`"1e9999"`: true, `"1E-0000"`: true, `".e+9999"`: true, `"1\u00659999"`: true, `"1e\u00399999"`: true, `"1e\u002d9999"`: true,
		`"1e999"`: false, `"2026-11-27"`: false, `"a1b2c3d4"`: false, `"bee12345"`: false, `"\u003ca\u0026\u003e"`: false, `"\u00e9"`: false, `""`: false,
		strings.Repeat("7", longRun): true, strings.Repeat("7", longRun-1): false,
	} {
		for shift := range 5 {
			if got := Suspect([]byte(strings.Repeat(" ", shift) + text)); got != want {
				t.Errorf("%s after %d spaces: %t", text, shift, got)
			}
		}
	}
}

// FuzzInJSON requires that what is beyond the limits is found, and is suspect.
func FuzzInJSON(f *testing.F) {
	for _, text := range []string{"1", "1e9999", "1E-12345", "0.1", "<&>", "é", "1e99999e1"} {
		f.Add(text, []byte(`{"spec":{"hard":{"pods":"1\u0065-9999"}}}`), []byte{0x12, 0x02, 0x0a, 0x00})
	}
	f.Fuzz(func(t *testing.T, text string, document, message []byte) {
		quota := reflect.TypeFor[corev1.ResourceQuota]()
		_ = InProtobuf(message, quota) // ends, without a panic
		if InJSON(document, quota) != nil && !Suspect(document) {
			t.Errorf("%q has a quantity beyond the limits, and is not suspect", document)
		}
		quoted, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		whole := fmt.Appendf(nil, `{"spec":{"hard":{"pods":%s}}}`, quoted)
		var decoded string
		_ = json.Unmarshal(quoted, &decoded)
		if got := InJSON(whole, quota) != nil; got != Beyond(decoded) {
			t.Errorf("%s: found %t, beyond the limits %t", whole, got, Beyond(decoded))
		}
	})
}

// TestKnownTypesCostNothing requires that a message of a type that is known is looked at without
// looking at the type again: a few UIDs in a hundred are suspect.
func TestKnownTypesCostNothing(t *testing.T) {
	pod := &corev1.Pod{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "b"}}}}
	pod.UID = "4e123456-0000-0000-0000-000000000000"
	message, err := pod.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	if !Suspect(message) {
		t.Error("the UID is not suspect")
	}
	of := reflect.TypeOf(pod)
	if n := testing.AllocsPerRun(100, func() { _ = InProtobuf(message, of) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
