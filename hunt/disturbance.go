package hunt

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Action is the effect of a Disturbance.
type Action string

// The actions.
const (
	// CrashBefore ends the operator before the write, which does not happen. It starts again ten seconds later.
	CrashBefore Action = "crash before"
	// CrashAfter ends the operator after the write has happened and before its answer comes.
	CrashAfter Action = "crash after"
	// Conflict refuses the write with 409, as if another client had changed the object.
	Conflict Action = "conflict at"
	// ServerError refuses the write with 500. It does not happen.
	ServerError Action = "server error at"
	// LostAnswer answers the write, which happens, with 504.
	LostAnswer Action = "lost answer of"
	// TooManyRequests refuses the write with 429, as if client-go's own repetitions had not helped.
	TooManyRequests Action = "too many requests at"
	// WebhookDenial refuses the write with 403, as a validating webhook does.
	WebhookDenial Action = "webhook denial of"
	// WebhookOutage refuses the write, and for thirty seconds all creates and changes of its resource, with 500, as if the webhook that is
	// called for them did not answer.
	WebhookOutage Action = "webhook outage at"
	// QuotaExceeded refuses the create, and for thirty seconds all creates of its resource in the namespace, with 403, as a ResourceQuota
	// does.
	QuotaExceeded Action = "quota exceeded at"
	// SlowAnswer answers the write, which happens at once, ten seconds later.
	SlowAnswer Action = "slow answer of"
	// LateArrival ends the operator before the write, which happens twenty seconds later: the next life works then, as a new leader
	// does when the last write of the old one arrives.
	LateArrival Action = "late arrival of"
	// RepeatedEvents lets the watches of a resource expire a second after the write: the operator lists again, and sees each object once more.
	RepeatedEvents Action = "repeated events of"
	// LateEvents holds back the events of a resource from the moment before the write on, for thirty seconds.
	LateEvents Action = "late events of"
	// MissedEvents is LateEvents, and then the watch has expired: the operator lists again, and what happened in between is
	// collapsed into one change of each object.
	MissedEvents Action = "missed events of"
	// StaleRestart ends the operator as CrashAfter does, and the next life lists a resource as it was before an earlier write.
	// Thirty seconds later it gets the events since then.
	StaleRestart Action = "stale restart with"
	// Edit changes a field of an object after the write, as a user does, and changes it back thirty seconds later.
	Edit Action = "edit of"
	// DeletePods deletes, twenty seconds after the write, the pods of a Deployment, StatefulSet, DaemonSet or ReplicaSet.
	DeletePods Action = "deletion of the pods of"
	// NodeLost crashes, twenty seconds after the write, the node with most pods of the operator: its kubelet and its containers. It returns a
	// minute later.
	NodeLost Action = "node lost from"
	// Recreate deletes an object after the write, and creates it again when it is gone.
	Recreate Action = "recreation of"
)

// Point is a write of the operator.
type Point struct {
	// Verb is create, update, patch, delete or deletecollection.
	Verb string
	// Resource is written as pods, pods/status or deployments.apps.
	Resource string
	// Namespace and Name are the object's; Name ends with an asterisk if the server chooses the rest of it.
	Namespace, Name string
	// Nth is which one of the equal writes is meant: 1 is the first one.
	Nth int
}

// String returns the point in the form that ParseDisturbance reads: "update sites.example.com/status default/home (2)".
func (p Point) String() string {
	text := p.Verb + " " + p.Resource + " " + strings.TrimPrefix(p.Namespace+"/"+p.Name, "/")
	if p.Nth > 1 {
		text += fmt.Sprintf(" (%d)", p.Nth)
	}
	return text
}

// Disturbance is one thing that goes wrong in a run.
type Disturbance struct {
	Action Action
	// At is the write at which it happens.
	At Point
	// Resource is the resource whose events are late, missed or stale, such as pods or deployments.apps, or of the object on which a user
	// acts.
	Resource string
	// Object is the object on which a user acts, as namespace/name or name. Path is the field of an Edit, and Value the value in JSON.
	Object, Path, Value string
	// Since is the write before which a StaleRestart shows the resource.
	Since Point
}

// String returns the disturbance in the form that ParseDisturbance reads.
func (d Disturbance) String() string {
	switch d.Action {
	case LateEvents, MissedEvents, RepeatedEvents:
		return fmt.Sprintf("%s %s from %s", d.Action, d.Resource, d.At)
	case Edit:
		return fmt.Sprintf("%s %s %s: %s=%s for thirty seconds, from %s", d.Action, d.Resource, d.Object, d.Path, d.Value, d.At)
	case Recreate, DeletePods:
		return fmt.Sprintf("%s %s %s from %s", d.Action, d.Resource, d.Object, d.At)
	case StaleRestart:
		return fmt.Sprintf("%s %s as before %s, after %s", d.Action, d.Resource, d.Since, d.At)
	}
	return fmt.Sprintf("%s %s", d.Action, d.At)
}

const point = `(create|update|patch|delete|deletecollection) (\S+) (\S+?)(?: \((\d+)\))?`

// forms are the texts of disturbances.
var forms = []struct {
	pattern *regexp.Regexp
	read    func(m []string) Disturbance
}{
	{regexp.MustCompile(`^(crash before|crash after|conflict at|server error at|lost answer of|too many requests at|webhook denial of|webhook outage at|quota exceeded at|slow answer of|late arrival of|node lost from) ` + point + `$`), func(m []string) Disturbance {
		return Disturbance{Action: Action(m[1]), At: readPoint(m[2:])}
	}},
	{regexp.MustCompile(`^(late events of|missed events of|repeated events of) (\S+) from ` + point + `$`), func(m []string) Disturbance {
		return Disturbance{Action: Action(m[1]), Resource: m[2], At: readPoint(m[3:])}
	}},
	{regexp.MustCompile(`^(edit of) (\S+) (\S+): ([^\s=]+)=(.*?) for thirty seconds, from ` + point + `$`), func(m []string) Disturbance {
		return Disturbance{Action: Action(m[1]), Resource: m[2], Object: m[3], Path: m[4], Value: m[5], At: readPoint(m[6:])}
	}},
	{regexp.MustCompile(`^(recreation of|deletion of the pods of) (\S+) (\S+) from ` + point + `$`), func(m []string) Disturbance {
		return Disturbance{Action: Action(m[1]), Resource: m[2], Object: m[3], At: readPoint(m[4:])}
	}},
	{regexp.MustCompile(`^(stale restart with) (\S+) as before ` + point + `, after ` + point + `$`), func(m []string) Disturbance {
		return Disturbance{Action: Action(m[1]), Resource: m[2], Since: readPoint(m[3:]), At: readPoint(m[7:])}
	}},
}

// readPoint reads the four groups of point. The pattern has checked the number.
func readPoint(m []string) Point {
	p := Point{Verb: m[0], Resource: m[1], Name: m[2], Nth: 1}
	if namespace, name, namespaced := strings.Cut(m[2], "/"); namespaced {
		p.Namespace, p.Name = namespace, name
	}
	if n, err := strconv.Atoi(m[3]); err == nil {
		p.Nth = n
	}
	return p
}

// parseDisturbances reads the disturbances of a finding.
func parseDisturbances(texts []string) ([]Disturbance, error) {
	var list []Disturbance
	for _, text := range texts {
		d, err := ParseDisturbance(text)
		if err != nil {
			return nil, err
		}
		list = append(list, d)
	}
	return list, nil
}

// ParseDisturbance reads a disturbance as String writes it.
func ParseDisturbance(text string) (Disturbance, error) {
	for _, form := range forms {
		if m := form.pattern.FindStringSubmatch(text); m != nil {
			return form.read(m), nil
		}
	}
	return Disturbance{}, fmt.Errorf("reading the disturbance %q: write it as \"crash after create configmaps default/home-0\", with one of the actions of docs/hunt.md", text)
}
