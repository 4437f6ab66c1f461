package loopapi

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock/informers"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
)

// maxNamed caps the objects and keys that a Stop names.
const maxNamed = 20

// Stop is where the cluster's work waits for a step.
type Stop struct {
	// Stage is one of event, queue, handler, key, decision, write, failure and work (of a part that has no stages: the scheduler, a node, Events).
	Stage string `json:"stage"`
	// Code is the name that client-go and controllers have for what happens next, such as workqueue.Get.
	Code string `json:"code"`
	// Says is a sentence that says what happens next, and why.
	Says string `json:"says"`
	// Controller is the loop that works, Key the key that it works on.
	Controller string `json:"controller,omitempty"`
	Key        string `json:"key,omitempty"`
	// Keys are those that an event was mapped to. Merged is how many of them wait already: a key waits once, whatever the number of its events.
	Keys   []string `json:"keys,omitempty"`
	Merged int      `json:"merged,omitempty"`
	// Object is the object of the event, the reconcile or the write.
	Object *Read `json:"object,omitempty"`
	// Event is Added, Updated or Deleted, Verb the verb of the write.
	Event string `json:"event,omitempty"`
	Verb  string `json:"verb,omitempty"`
	// Decision says what a reconcile decided; of a write, by which numbers.
	Decision *Decision `json:"decision,omitempty"`
	// Reads are the objects that the reconcile read from its caches, at their revisions.
	Reads []Read `json:"reads,omitempty"`
	// Causes are the revisions of the events that the reconcile reacts to.
	Causes []int64 `json:"causes,omitempty"`
	// Behind is how many events of the same watch wait behind this one.
	Behind   int    `json:"behind,omitempty"`
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
}

// Read is an object, or a cache as a whole, at a revision.
type Read struct {
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	Revision  string `json:"revision,omitempty"`
}

// stopOf describes work that waits.
func stopOf(at inflight.Waiting) *Stop {
	switch d := at.Detail.(type) {
	case informers.Delivery:
		return stopOfDelivery(d)
	case loop.Stop:
		return stopOfLoop(d)
	}
	s := &Stop{Stage: "key", Code: "workqueue.Get", Controller: at.Name, Key: strings.TrimPrefix(at.Key, "/")}
	switch {
	case at.Kind != inflight.Key:
		s.Stage, s.Code = "work", "syncPod"
		s.Says = fmt.Sprintf("The kubelet works on %s.", s.Key)
	case strings.HasSuffix(at.Name, "scheduler"):
		s.Stage, s.Code = "work", "scheduleOne"
		s.Says = fmt.Sprintf("The scheduler takes Pod %s from its queue, and chooses a node for it.", s.Key)
	case at.Name == "events":
		s.Stage, s.Code = "work", "EventRecorder"
		s.Says = fmt.Sprintf("The Event about %s is recorded.", s.Key)
	default:
		s.Says = fmt.Sprintf("A worker of %s takes the key %s from the queue, and reconciles it.", s.Controller, s.Key)
	}
	return s
}

func stopOfDelivery(d informers.Delivery) *Stop {
	s := &Stop{Stage: "event", Code: "Reflector.ListAndWatch", Event: strings.ToLower(string(d.Event)), Object: readOf(d.Object), Behind: d.Behind()}
	if d.Queue {
		s.Stage, s.Code = "queue", "RealFIFO.Add → Pop → Indexer"
		s.Says = fmt.Sprintf("The Reflector has decoded %s and adds it to the informer's queue (RealFIFO); Pop stores it in the Indexer, from which reconciles read, and calls the handlers.", s.Object)
		return s
	}
	s.Says = fmt.Sprintf("The API server has sent the event that %s was %s; the Reflector of the controllers reads it from the watch.", s.Object, s.Event)
	return s
}

func stopOfLoop(d loop.Stop) *Stop {
	s := &Stop{Controller: d.Controller, Key: d.Key, Causes: d.Causes, Failures: d.Failures, Merged: d.Merged, Object: readOf(d.Object)}
	s.Keys = d.Keys[:min(len(d.Keys), maxNamed)]
	switch d.Stage {
	case loop.Handled:
		s.Stage, s.Code, s.Event = "handler", [...]string{"OnAdd", "OnUpdate", "OnDelete"}[d.Event], d.Event.String()
		s.Says = handlerText(s)
	case loop.Decided:
		s.Stage, s.Code, s.Reads = "decision", "Reconcile", reads(d)
		if s.Decision = decisionOf(d); s.Decision == nil {
			s.Says = "Nothing to write for " + d.Key + "."
		} else {
			s.Says = s.Decision.String()
		}
	case loop.Writes:
		s.Stage, s.Code = "write", "rest.Request.Do"
		s.Verb, s.Object = target(d.Method, d.Path)
		s.Says = fmt.Sprintf("%s sends the write to the API server: %s %s", d.Controller, s.Verb, s.Object)
		if d.Decision != nil && d.Decision.Object != nil {
			if is := situation(*d.Decision); is.Counts != "" {
				s.Decision = is
				s.Says += ", since " + is.numbers()
			}
		}
		s.Says += "."
	case loop.Failed:
		s.Stage, s.Code, s.Error = "failure", "workqueue.AddRateLimited", d.Error.Error()
		s.Says = fmt.Sprintf("The reconcile of %s failed, %s in a row: the key waits for its back-off, which doubles each time, and is retried.", d.Key, count(d.Failures, "time"))
	}
	return s
}

func handlerText(s *Stop) string {
	text := fmt.Sprintf("The Indexer has %s. The handler of %s maps the event to %s", s.Object, s.Controller, listed(s.Keys))
	switch {
	case s.Merged == 0:
		return text + ", which it adds to the work queue."
	case s.Merged == len(s.Keys):
		return text + ": the key waits already, and the queue keeps it once, so that one reconcile sees both changes."
	}
	return text + fmt.Sprintf("; %d of them wait already, and the queue keeps each once.", s.Merged)
}

// readOf describes an object; nil stays nil.
func readOf(obj any) *Read {
	o, ok := obj.(metav1.Object)
	if !ok {
		return nil
	}
	return &Read{Kind: kindOf(o), Namespace: o.GetNamespace(), Name: o.GetName(), Revision: o.GetResourceVersion()}
}

// kindOf returns an object's kind; informers deliver typed objects without theirs.
func kindOf(o metav1.Object) string {
	text := fmt.Sprintf("%T", o)
	return text[strings.LastIndexByte(text, '.')+1:]
}

// String names the object for a sentence.
func (r *Read) String() string {
	switch {
	case r == nil:
		return "an object"
	case r.Name == "":
		return r.Kind
	}
	return r.Kind + " " + r.Name
}

// reads lists what a decision was made on: the owner, and the objects that it controls.
func reads(d loop.Stop) []Read {
	var all []Read
	if d.Cached != nil {
		all = append(all, *readOf(d.Cached))
	}
	for _, c := range d.Caches {
		for _, o := range c.Controlled {
			if len(all) < maxNamed {
				all = append(all, *readOf(o))
			}
		}
	}
	for _, c := range d.Caches {
		if c.Kind != "" {
			all = append(all, Read{Kind: c.Kind, Revision: c.Revision})
		}
	}
	return all
}

// target reads the verb and the object of a request that writes.
func target(method, path string) (verb string, o *Read) {
	verb = map[string]string{"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[method]
	parts := strings.Split(strings.Trim(path, "/"), "/")
	skip := 2 // api/v1
	if parts[0] == "apis" {
		skip = 3
	}
	parts = parts[min(skip, len(parts)):]
	o = &Read{}
	if len(parts) > 2 && parts[0] == "namespaces" {
		o.Namespace, parts = parts[1], parts[2:]
	}
	if len(parts) > 0 {
		o.Kind = kindOfResource(parts[0])
	}
	if len(parts) > 1 {
		o.Name = parts[1]
	}
	if len(parts) > 2 {
		verb += " " + parts[2]
	}
	return verb, o
}

// kindOfResource returns the kind of a resource of the built-in groups, and other resources as they are.
func kindOfResource(resource string) string {
	for gvk := range scheme.AllKnownTypes() {
		if plural, _ := meta.UnsafeGuessKindToResource(gvk); plural.Resource == resource {
			return gvk.Kind
		}
	}
	return resource
}
