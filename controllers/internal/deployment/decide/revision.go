package decide

import (
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The annotations that record history and size in a Deployment and its ReplicaSets. kubectl
// reads the first two.
const (
	revisionAnnotation        = "deployment.kubernetes.io/revision"
	revisionHistoryAnnotation = "deployment.kubernetes.io/revision-history"
	desiredReplicasAnnotation = "deployment.kubernetes.io/desired-replicas"
	maxReplicasAnnotation     = "deployment.kubernetes.io/max-replicas"
	rollbackToAnnotation      = "deprecated.deployment.rollback.to"
)

// maxRevisionHistory caps the length of the history annotation, in bytes.
const maxRevisionHistory = 2000

// notCopied reports whether the annotation is not copied between a Deployment and its
// ReplicaSets.
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

// nextRevision returns the highest revision of the old ReplicaSets plus one.
func nextRevision(old []*set) int64 {
	last := int64(0)
	for _, s := range old {
		last = max(last, revisionOf(s))
	}
	return last + 1
}

// inherit copies the Deployment's annotations to the new ReplicaSet and, if that does not
// have the highest revision already, assigns it the next one. If it had a revision before,
// because the Deployment was rolled back to it, that is appended to its history.
func (r *rollout) inherit() {
	for key, value := range r.d.Annotations {
		if !notCopied(key) {
			r.new.annotate(key, value)
		}
	}
	had := r.new.annotations[revisionAnnotation]
	number, err := strconv.ParseInt(had, 10, 64)
	if had != "" && err != nil {
		return // the annotation is not a number: keep it, as upstream does
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

// extendHistory appends a revision to the history, and drops the oldest ones beyond
// maxRevisionHistory.
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
