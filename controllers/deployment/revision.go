package deployment

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The annotations by which a Deployment and its ReplicaSets know each other's
// history and size; kubectl reads the first two.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
	rollbackToAnnotation      = "deprecated.deployment.rollback.to"
)

// maxRevisionHistory is how long the history annotation may get, in bytes.
const maxRevisionHistory = 2000

// notCopied are the Deployment's annotations that its ReplicaSets do not get.
func notCopied(key string) bool {
	switch key {
	case corev1.LastAppliedConfigAnnotation, revisionAnnotation, revisionHistoryAnnotation,
		desiredReplicasAnnotation, maxReplicasAnnotation, rollbackToAnnotation:
		return true
	default:
		return false
	}
}

// revisionOf returns a ReplicaSet's revision, 0 if it has none.
func revisionOf(s *set) int64 {
	n, err := strconv.ParseInt(s.annotations[revisionAnnotation], 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// nextRevision is one more than that of any old ReplicaSet.
func nextRevision(old []*set) int64 {
	last := int64(0)
	for _, s := range old {
		last = max(last, revisionOf(s))
	}
	return last + 1
}

// inherit gives the new ReplicaSet the Deployment's annotations and, if it is not
// the latest already, the next revision. A revision that it had before, because
// the Deployment was rolled back to it, goes into its history.
func (r *rollout) inherit() {
	for key, value := range r.d.Annotations {
		if !notCopied(key) {
			r.new.annotate(key, value)
		}
	}
	had := r.new.annotations[revisionAnnotation]
	number, err := strconv.ParseInt(had, 10, 64)
	if had != "" && err != nil {
		return // somebody's own text: not ours to change
	}
	next := nextRevision(r.old)
	if next <= number {
		return
	}
	r.new.annotate(revisionAnnotation, strconv.FormatInt(next, 10))
	if had != "" {
		r.new.annotate(revisionHistoryAnnotation, extendHistory(r.new.annotations[revisionHistoryAnnotation], had))
	}
}

// extendHistory puts a revision behind the others, and drops the oldest when they
// get too many.
func extendHistory(history, revision string) string {
	if history == "" {
		return revision
	}
	longer := history + "," + revision
	for len(longer) > maxRevisionHistory {
		_, rest, ok := strings.Cut(longer, ",")
		if !ok {
			return history
		}
		longer = rest
	}
	return longer
}
