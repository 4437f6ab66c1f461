package resources

import (
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// TestSuspendedJob checks that the scheduling directives of the pods can change in a suspended
// job, and in no other job.
func TestSuspendedJob(t *testing.T) {
	job := func(change func(*batchv1.Job)) *batchv1.Job {
		j := &batchv1.Job{}
		j.Spec.Template.Spec = corev1.PodSpec{RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{{Name: "a", Image: "x"}}}
		defaultJob(j)
		change(j)
		return j
	}
	suspended := func(j *batchv1.Job) { *j.Spec.Suspend = true }
	moved := func(j *batchv1.Job) {
		suspended(j)
		j.Spec.Template.Spec.NodeSelector = map[string]string{"zone": "a"}
		j.Spec.Template.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{}}
	}
	other := func(j *batchv1.Job) {
		moved(j)
		j.Spec.Template.Spec.Containers[0].Image = "y"
	}
	for _, test := range []struct {
		name     string
		old, obj *batchv1.Job
		fine     bool
	}{
		{"moved while suspended", job(suspended), job(moved), true},
		{"moved back", job(moved), job(suspended), true},
		{"moved while running", job(func(*batchv1.Job) {}), job(moved), false},
		{"image", job(suspended), job(other), false},
	} {
		errs := validation.JobUpdate(test.obj, test.old)
		if fine := len(errs) == 0; fine != test.fine || !fine && !strings.HasPrefix(errs[0].Error(), "spec.template: Invalid value") {
			t.Errorf("%s: %v", test.name, texts(errs))
		}
	}
}
