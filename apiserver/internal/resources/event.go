package resources

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/api/validation/path"
	"k8s.io/apimachinery/pkg/runtime"

	"minikcm.dev/minikcm/apiserver/internal/resources/validation"
)

// eventTTL is how long an event is kept: upstream's default of --event-ttl.
const eventTTL = time.Hour

// eventRow stores events; eventsEventRow is the newer API of the same objects.
func eventRow() *Resource {
	return &Resource{
		GroupVersionKind: corev1.SchemeGroupVersion.WithKind("Event"),
		Plural:           "events",
		ShortNames:       []string{"ev"},
		Namespaced:       true,
		New:              func() runtime.Object { return &corev1.Event{} },
		NewList:          func() runtime.Object { return &corev1.EventList{} },
		SelectableFields: []string{
			"involvedObject.kind", "involvedObject.namespace", "involvedObject.name", "involvedObject.uid",
			"involvedObject.apiVersion", "involvedObject.resourceVersion", "involvedObject.fieldPath",
			"reason", "reportingComponent", "source", "type",
		},
		Field: fieldOf(eventField),
		Packed: map[string]PackedField{
			fieldName:                        {{1, 1}},
			fieldNamespace:                   {{1, 3}},
			"involvedObject.kind":            {{2, 1}},
			"involvedObject.namespace":       {{2, 2}},
			"involvedObject.name":            {{2, 3}},
			"involvedObject.uid":             {{2, 4}},
			"involvedObject.apiVersion":      {{2, 5}},
			"involvedObject.resourceVersion": {{2, 6}},
			"involvedObject.fieldPath":       {{2, 7}},
			"reason":                         {{3}},
			"reportingComponent":             {{14}},
			"source":                         {{5, 1}, {14}},
			"type":                           {{9}},
		},
		Strategy: Strategy{
			AnyFinalizer:        true,
			NameCheck:           path.ValidatePathSegmentName,
			Validate:            check(validation.Event),
			AllowCreateOnUpdate: true,
			TTL:                 eventTTL,
			NoDependents:        true,
		},
	}
}

func eventsEventRow() *Resource {
	return &Resource{
		GroupVersionKind: eventsv1.SchemeGroupVersion.WithKind("Event"),
		Plural:           "events",
		ShortNames:       []string{"ev"},
		Namespaced:       true,
		Storage: &StorageConversion{
			Resource: corev1.SchemeGroupVersion.WithResource("events"),
			To:       func(obj runtime.Object) runtime.Object { return coreEvent(obj.(*eventsv1.Event)) },
			From:     func(stored runtime.Object) runtime.Object { return eventsEvent(stored.(*corev1.Event)) },
			FieldLabels: map[string]string{
				"regarding.kind":            "involvedObject.kind",
				"regarding.namespace":       "involvedObject.namespace",
				"regarding.name":            "involvedObject.name",
				"regarding.uid":             "involvedObject.uid",
				"regarding.apiVersion":      "involvedObject.apiVersion",
				"regarding.resourceVersion": "involvedObject.resourceVersion",
				"regarding.fieldPath":       "involvedObject.fieldPath",
				"reportingController":       "reportingComponent",
			},
		},
		New:     func() runtime.Object { return &eventsv1.Event{} },
		NewList: func() runtime.Object { return &eventsv1.EventList{} },
		SelectableFields: []string{
			"reason", "regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid",
			"regarding.apiVersion", "regarding.resourceVersion", "regarding.fieldPath", "reportingController", "type",
		},
		Field: fieldOf(eventsEventField),
		Strategy: Strategy{
			NameCheck:           apivalidation.NameIsDNSSubdomain,
			Validate:            check(validation.EventsV1Event),
			ValidateUpdate:      checkUpdate(validation.EventsV1EventUpdate),
			AllowCreateOnUpdate: true,
			TTL:                 eventTTL,
			NoDependents:        true,
		},
	}
}

func eventField(e *corev1.Event, label string) string {
	switch label {
	case "reason":
		return e.Reason
	case "reportingComponent":
		return e.ReportingController
	case "source":
		if e.Source.Component == "" {
			return e.ReportingController
		}
		return e.Source.Component
	case "type":
		return e.Type
	}
	return referenceField(&e.InvolvedObject, "involvedObject.", label)
}

func eventsEventField(e *eventsv1.Event, label string) string {
	switch label {
	case "reason":
		return e.Reason
	case "reportingController":
		return e.ReportingController
	case "type":
		return e.Type
	}
	return referenceField(&e.Regarding, "regarding.", label)
}

func referenceField(ref *corev1.ObjectReference, prefix, label string) string {
	if len(label) <= len(prefix) {
		return ""
	}
	switch label[len(prefix):] {
	case "kind":
		return ref.Kind
	case "namespace":
		return ref.Namespace
	case "name":
		return ref.Name
	case "uid":
		return string(ref.UID)
	case "apiVersion":
		return ref.APIVersion
	case "resourceVersion":
		return ref.ResourceVersion
	case "fieldPath":
		return ref.FieldPath
	}
	return ""
}

// coreEvent converts an event of events.k8s.io/v1 to the stored form.
func coreEvent(e *eventsv1.Event) *corev1.Event {
	stored := &corev1.Event{
		ObjectMeta:          e.ObjectMeta,
		InvolvedObject:      e.Regarding,
		Reason:              e.Reason,
		Message:             e.Note,
		Source:              e.DeprecatedSource,
		FirstTimestamp:      e.DeprecatedFirstTimestamp,
		LastTimestamp:       e.DeprecatedLastTimestamp,
		Count:               e.DeprecatedCount,
		Type:                e.Type,
		EventTime:           e.EventTime,
		Action:              e.Action,
		Related:             e.Related,
		ReportingController: e.ReportingController,
		ReportingInstance:   e.ReportingInstance,
	}
	if e.Series != nil {
		stored.Series = &corev1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return stored
}

// eventsEvent converts a stored event to events.k8s.io/v1.
func eventsEvent(e *corev1.Event) *eventsv1.Event {
	shown := &eventsv1.Event{
		ObjectMeta:               e.ObjectMeta,
		EventTime:                e.EventTime,
		ReportingController:      e.ReportingController,
		ReportingInstance:        e.ReportingInstance,
		Action:                   e.Action,
		Reason:                   e.Reason,
		Regarding:                e.InvolvedObject,
		Related:                  e.Related,
		Note:                     e.Message,
		Type:                     e.Type,
		DeprecatedSource:         e.Source,
		DeprecatedFirstTimestamp: e.FirstTimestamp,
		DeprecatedLastTimestamp:  e.LastTimestamp,
		DeprecatedCount:          e.Count,
	}
	if e.Series != nil {
		shown.Series = &eventsv1.EventSeries{Count: e.Series.Count, LastObservedTime: e.Series.LastObservedTime}
	}
	return shown
}
