package validation

import (
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

const (
	maxReasonLength = 128
	maxNoteLength   = 1024
)

// Event validates an event as the older API does: it requires little,
// because clients differ in the fields that they set.
func Event(e *corev1.Event) field.ErrorList {
	return involvedNamespace(e.InvolvedObject.Namespace, e.Namespace, !e.EventTime.IsZero())
}

// EventsV1Event validates a new event of events.k8s.io/v1. Events created by the
// older API have none of its fields and are not validated.
func EventsV1Event(e *eventsv1.Event) field.ErrorList {
	if e.EventTime.IsZero() && e.DeprecatedCount > 0 {
		return validateRegarding(e)
	}
	var errs field.ErrorList
	if e.EventTime.IsZero() {
		errs = append(errs, field.Required(field.NewPath("eventTime"), ""))
	}
	errs = append(errs, requiredOr(field.NewPath("reportingController"), e.ReportingController, isQualifiedName)...)
	errs = append(errs, requiredShort("reportingInstance", e.ReportingInstance)...)
	errs = append(errs, requiredShort("action", e.Action)...)
	errs = append(errs, requiredShort("reason", e.Reason)...)
	if utf8.RuneCountInString(e.Note) > maxNoteLength {
		errs = append(errs, field.Invalid(field.NewPath("note"), "", "can have at most 1024 characters"))
	}
	if e.Type != corev1.EventTypeNormal && e.Type != corev1.EventTypeWarning {
		errs = append(errs, field.Invalid(field.NewPath("type"), "", "has invalid value: "+e.Type))
	}
	if s := e.Series; s != nil {
		if s.Count < 2 {
			errs = append(errs, field.Invalid(field.NewPath("series", "count"), "", "should be at least 2"))
		}
		if s.LastObservedTime.IsZero() {
			errs = append(errs, field.Required(field.NewPath("series", "lastObservedTime"), ""))
		}
	}
	return append(errs, validateRegarding(e)...)
}

func requiredShort(name, value string) field.ErrorList {
	switch {
	case value == "":
		return field.ErrorList{field.Required(field.NewPath(name), "")}
	case utf8.RuneCountInString(value) > maxReasonLength:
		return field.ErrorList{field.Invalid(field.NewPath(name), "", "can have at most 128 characters")}
	}
	return nil
}

// validateRegarding names the field of the older API, as upstream, which validates after conversion.
func validateRegarding(e *eventsv1.Event) field.ErrorList {
	return involvedNamespace(e.Regarding.Namespace, e.Namespace, !e.EventTime.IsZero())
}

// involvedNamespace compares the namespace of an event and of its object. Events with an eventTime may be
// about objects of other namespaces, and about cluster-scoped ones in two namespaces.
func involvedNamespace(involved, namespace string, hasTime bool) field.ErrorList {
	matches := involved == namespace || involved == "" && namespace == metav1.NamespaceDefault
	if hasTime {
		matches = involved != "" || namespace == metav1.NamespaceDefault || namespace == metav1.NamespaceSystem
	}
	if matches {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("involvedObject", "namespace"), involved, "does not match event.namespace")}
}

// EventsV1EventUpdate allows only the series of an event to change.
func EventsV1EventUpdate(e, old *eventsv1.Event) field.ErrorList {
	if apiequality.Semantic.DeepEqual(e.Series, old.Series) && old.EventTime.IsZero() {
		return nil
	}
	var errs field.ErrorList
	for _, part := range []struct {
		name       string
		value, was any
	}{
		{"regarding", e.Regarding, old.Regarding},
		{"reason", e.Reason, old.Reason},
		{"action", e.Action, old.Action},
		{"type", e.Type, old.Type},
		{"note", e.Note, old.Note},
		{"related", e.Related, old.Related},
		{"reportingController", e.ReportingController, old.ReportingController},
		{"reportingInstance", e.ReportingInstance, old.ReportingInstance},
	} {
		errs = append(errs, immutable(field.NewPath(part.name), part.value, part.was)...)
	}
	// The stored time has a resolution of microseconds.
	if !e.EventTime.Equal(&old.EventTime) {
		errs = append(errs, immutable(field.NewPath("eventTime"), e.EventTime, old.EventTime)...)
	}
	return errs
}
