package columns

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Event is the Table of core/v1 Events.
func Event() Table {
	return table(func(e *corev1.Event, now time.Time) []any {
		v := eventView{
			name: e.Name, kind: e.Type, reason: e.Reason, message: e.Message,
			about: e.InvolvedObject,
			first: e.FirstTimestamp, last: e.LastTimestamp, at: e.EventTime, count: e.Count,
			source: e.Source, controller: e.ReportingController, instance: e.ReportingInstance,
		}
		if e.Series != nil {
			v.repeated, v.observed, v.times = true, e.Series.LastObservedTime, e.Series.Count
		}
		return v.cells(now)
	}, eventColumns()...)
}

// EventsV1Event is the Table of events.k8s.io/v1 Events; it has the columns of
// the core ones.
func EventsV1Event() Table {
	return table(func(e *eventsv1.Event, now time.Time) []any {
		v := eventView{
			name: e.Name, kind: e.Type, reason: e.Reason, message: e.Note,
			about: e.Regarding,
			first: e.DeprecatedFirstTimestamp, last: e.DeprecatedLastTimestamp, at: e.EventTime, count: e.DeprecatedCount,
			source: e.DeprecatedSource, controller: e.ReportingController, instance: e.ReportingInstance,
		}
		if e.Series != nil {
			v.repeated, v.observed, v.times = true, e.Series.LastObservedTime, e.Series.Count
		}
		return v.cells(now)
	}, eventColumns()...)
}

func eventColumns() []column {
	doc := corev1.Event{}.SwaggerDoc()
	name := nameColumn()
	return []column{
		text("Last Seen", doc["lastTimestamp"]),
		text("Type", doc["type"]),
		text("Reason", doc["reason"]),
		text("Object", doc["involvedObject"]),
		wide(text("Subobject", corev1.ObjectReference{}.SwaggerDoc()["fieldPath"])),
		wide(text("Source", doc["source"])),
		text("Message", doc["message"]),
		wide(text("First Seen", doc["firstTimestamp"])),
		wide(text("Count", doc["count"])),
		wide(name),
	}
}

// eventView has the fields that the two versions of an event share.
type eventView struct {
	name, kind, reason, message string
	about                       corev1.ObjectReference
	first, last                 metav1.Time
	at                          metav1.MicroTime
	count                       int32
	repeated                    bool
	observed                    metav1.MicroTime
	times                       int32
	source                      corev1.EventSource
	controller, instance        string
}

func (v *eventView) cells(now time.Time) []any {
	first := age(v.first, now)
	if v.first.IsZero() {
		first = microAge(v.at, now)
	}
	last := age(v.last, now)
	if v.last.IsZero() {
		last = first
	}
	count := v.count
	switch {
	case v.repeated:
		last, count = microAge(v.observed, now), v.times
	case count == 0:
		// An event of the newer API without a series has occurred once.
		count = 1
	}
	about := strings.ToLower(v.about.Kind)
	if v.about.Name != "" {
		about += "/" + v.about.Name
	}
	return []any{
		last, v.kind, v.reason, about, v.about.FieldPath, v.reporter(),
		strings.TrimSpace(v.message), first, int64(count), v.name,
	}
}

// reporter returns "component, host", for both APIs.
func (v *eventView) reporter() string {
	component := orElse(v.source.Component, v.controller)
	host := orElse(v.source.Host, v.instance)
	if component == "" || host == "" {
		return component + host
	}
	return component + ", " + host
}
