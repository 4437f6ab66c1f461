package decide

import (
	"fmt"
	"maps"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// jobName returns the name of the Job for a scheduled time: the CronJob's name and the
// minutes since 1970.
func jobName(cj *batchv1.CronJob, at time.Time) string {
	return fmt.Sprintf("%s-%d", cj.Name, at.Unix()/60)
}

// jobFor returns the Job for a scheduled time. An annotation holds the time in the zone of
// the schedule.
func jobFor(cj *batchv1.CronJob, at time.Time, zone *time.Location) *batchv1.Job {
	template := &cj.Spec.JobTemplate
	annotations := map[string]string{}
	maps.Copy(annotations, template.Annotations)
	annotations[batchv1.CronJobScheduledTimestampAnnotation] = at.In(zone).Format(time.RFC3339)
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cj.Namespace, Name: jobName(cj, at),
			Labels: maps.Clone(template.Labels), Annotations: annotations,
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(cj, Kind)},
		},
		Spec: *template.Spec.DeepCopy(),
	}
}
