package warnings

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// templateChanged reports whether to warn about a workload's template: it is new, or the
// desired state has changed.
func templateChanged(m, old metav1.Object, isNew bool) bool {
	return isNew || m.GetGeneration() != old.GetGeneration()
}

func Deployment(d *appsv1.Deployment) []string {
	return warnTemplate(field.NewPath("spec", "template"), &d.Spec.Template)
}

func ReplicaSet(r *appsv1.ReplicaSet) []string {
	return warnTemplate(field.NewPath("spec", "template"), &r.Spec.Template)
}

func ReplicationController(r *corev1.ReplicationController) []string {
	if r.Spec.Template == nil {
		return nil
	}
	return warnTemplate(field.NewPath("spec", "template"), r.Spec.Template)
}

func DaemonSet(d, old *appsv1.DaemonSet) []string {
	if old != nil && d.Annotations[appsv1.DeprecatedTemplateGeneration] == old.Annotations[appsv1.DeprecatedTemplateGeneration] {
		return nil
	}
	return warnTemplate(field.NewPath("spec", "template"), &d.Spec.Template)
}

func StatefulSet(s, old *appsv1.StatefulSet) []string {
	var all []string
	if templateChanged(s, old, old == nil) {
		all = warnTemplate(field.NewPath("spec", "template"), &s.Spec.Template)
	}
	for i := range s.Spec.VolumeClaimTemplates {
		at := field.NewPath("spec", "volumeClaimTemplates").Index(i)
		if old != nil {
			at = at.Child("Spec") // upstream's path
		}
		all = append(all, warnClaimSpec(at, &s.Spec.VolumeClaimTemplates[i].Spec)...)
	}
	if limit := s.Spec.RevisionHistoryLimit; limit != nil && *limit < 0 {
		all = append(all, "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended")
	}
	return all
}

func PodTemplate(t, old *corev1.PodTemplate) []string {
	if !templateChanged(t, old, old == nil) {
		return nil
	}
	return warnTemplate(field.NewPath("template"), &t.Template)
}

func Job(job *batchv1.Job) []string { return warnJobSpec(field.NewPath("spec"), &job.Spec) }

func CronJob(c, old *batchv1.CronJob) []string {
	var all []string
	if old == nil {
		all = PodName(c)
	}
	if templateChanged(c, old, old == nil) {
		all = append(all, warnJobSpec(field.NewPath("spec", "jobTemplate", "spec"), &c.Spec.JobTemplate.Spec)...)
	}
	if old != nil && strings.Contains(c.Spec.Schedule, "TZ") {
		all = append(all, "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details")
	}
	return all
}

func warnJobSpec(p *field.Path, spec *batchv1.JobSpec) []string {
	var all []string
	if ptr.Deref(spec.CompletionMode, "") == batchv1.IndexedCompletion && ptr.Deref(spec.Completions, 0) > validation.ManyCompletions && ptr.Deref(spec.Parallelism, 0) > validation.ParallelismOfMany {
		all = append(all, fmt.Sprintf("%s: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail", p))
	}
	return append(all, warnTemplate(p.Child("template"), &spec.Template)...)
}
