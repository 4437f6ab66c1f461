package decide

import (
	"fmt"
	"maps"
	"slices"
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	"minikcm.dev/minikcm/controllers/internal/controllerref"
	"minikcm.dev/minikcm/controllers/internal/job/indexes"
)

// Kind is the kind of this controller's owners.
var Kind = batchv1.SchemeGroupVersion.WithKind("Job")

// indexVariable is the environment variable that holds the completion index.
const indexVariable = "JOB_COMPLETION_INDEX"

// maxPrefix is the maximum length of a generateName that the API keeps.
const maxPrefix = 58

// podOf returns a pod of the Job, without an index.
func podOf(job *batchv1.Job) *corev1.Pod {
	pod := controllerref.PodOf(&job.Spec.Template, job, Kind)
	if !Tracked(pod) {
		pod.Finalizers = append(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	if indexes.Indexed(job) {
		addVariable(pod.Spec.InitContainers)
		addVariable(pod.Spec.Containers)
	}
	return pod
}

func addVariable(containers []corev1.Container) {
	for i := range containers {
		c := &containers[i]
		if slices.ContainsFunc(c.Env, func(v corev1.EnvVar) bool { return v.Name == indexVariable }) {
			continue
		}
		c.Env = append(c.Env, corev1.EnvVar{Name: indexVariable, ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.labels['" + batchv1.JobCompletionIndexAnnotation + "']"},
		}})
	}
}

// withIndex returns a copy of the pod for an index that has failed that often. It shares
// the other parts with the template.
func withIndex(job *batchv1.Job, template *corev1.Pod, index int, failures attempts) *corev1.Pod {
	pod := *template
	text := strconv.Itoa(index)
	suffix := "-" + text + "-"
	pod.GenerateName = job.Name + suffix
	if len(pod.GenerateName) > maxPrefix {
		pod.GenerateName = job.Name[:maxPrefix-len(suffix)] + suffix
	}
	pod.Labels, pod.Annotations = set(pod.Labels, batchv1.JobCompletionIndexAnnotation, text), set(pod.Annotations, batchv1.JobCompletionIndexAnnotation, text)
	pod.Spec.Hostname = fmt.Sprintf("%s-%d", job.Name, index)
	if perIndex(job) {
		pod.Annotations[batchv1.JobIndexFailureCountAnnotation] = strconv.Itoa(int(failures.counted))
		if failures.ignored > 0 {
			pod.Annotations[batchv1.JobIndexIgnoredFailureCountAnnotation] = strconv.Itoa(int(failures.ignored))
		}
	}
	return &pod
}

// set returns a copy of the map with the entry.
func set(m map[string]string, key, value string) map[string]string {
	copied := maps.Clone(m)
	if copied == nil {
		copied = map[string]string{}
	}
	copied[key] = value
	return copied
}
