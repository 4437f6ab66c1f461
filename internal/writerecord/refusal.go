package writerecord

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/internal/reasons"
)

// Refusal counts the requests of one client, for one object or for new objects of one owner, that
// the same refuser refused for the same reason.
type Refusal struct {
	// Actor is the user, UserAgent the user's client.
	Actor     string `json:"actor"`
	UserAgent string `json:"userAgent,omitempty"`
	// Verb is the request's verb: get, list, watch, create, update, patch, delete,
	// deletecollection.
	Verb        string                      `json:"verb"`
	Resource    metav1.GroupVersionResource `json:"resource"`
	Subresource string                      `json:"subresource,omitempty"`
	// Kind is the kind of the resource; empty if it is not known.
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	// Name is empty for a list, and for new objects whose name the server generates.
	Name string `json:"name,omitempty"`
	// Controller is the controller owner of the object that was to be written.
	Controller *Owner `json:"controller,omitempty"`
	// By identifies the webhook, policy, quota, budget or plugin that refused the requests.
	By reasons.Refuser `json:"by"`
	// Code is the HTTP status, and Message the message of the newest response.
	Code    int32  `json:"code"`
	Message string `json:"message,omitempty"`
	// Count is the number of requests, First and Last the times of the first and the newest.
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Succeeded is when such a request succeeded after Last; zero: none has.
	Succeeded *time.Time `json:"succeeded,omitempty"`
}

// Writer returns the name of the program whose requests were refused; see Write.Writer.
func (r *Refusal) Writer() string { return (&Write{Actor: r.Actor, UserAgent: r.UserAgent}).Writer() }

// nodePrefix precedes the name of a node in the name of its kubelet's user.
const nodePrefix = "system:node:"

// heartbeatOf returns the node whose heartbeats were refused: renewals of its lease and updates of
// its status by its kubelet.
func (r *Refusal) heartbeatOf() (node string, ok bool) {
	node, ok = strings.CutPrefix(r.Actor, nodePrefix)
	lease := r.Resource.Resource == "leases" && r.Namespace == "kube-node-lease"
	status := r.Resource.Group == "" && r.Resource.Resource == "nodes" && r.Subresource == "status"
	return node, ok && (lease || status)
}

// requestNames name several requests, by their verb.
var requestNames = map[string]string{
	"get": "reads", "list": "lists", "watch": "watches", "create": "creations", "update": "updates", "patch": "patches",
	"delete": "deletions", "deletecollection": "deletions",
}

// What names the requests, such as "heartbeats of node-1", "updates of deployment/web", "creations
// of pods of replicaset/web-5d4f8c7b9".
func (r *Refusal) What() string {
	if node, ok := r.heartbeatOf(); ok {
		if r.Subresource == "status" {
			return "heartbeats of the status of " + node
		}
		return "heartbeats of " + node
	}
	verb := requestNames[r.Verb]
	if verb == "" {
		verb = r.Verb + " requests"
	}
	object := r.Resource.Resource
	if r.Name != "" {
		object = strings.ToLower(r.Kind) + "/" + r.Name
		if r.Kind == "" {
			object = r.Resource.Resource + "/" + r.Name
		}
	}
	if r.Subresource != "" {
		object = "the " + r.Subresource + " of " + object
		if r.Subresource == "eviction" && r.Verb == "create" {
			verb, object = "evictions", strings.TrimPrefix(object, "the eviction of ")
		}
	}
	text := verb + " of " + object
	if r.Controller != nil && r.Name == "" {
		text += " of " + strings.ToLower(r.Controller.Kind) + "/" + r.Controller.Name
	}
	return text
}

// Sentence says what happened: "345 heartbeats of node-3 were refused by webhook opa
// (validating-webhook.openpolicyagent.org)".
func (r *Refusal) Sentence() string { return r.reason().Sentence() }

// reason returns the refusal as explanations show it.
func (r *Refusal) reason() reasons.Refusal {
	return reasons.Refusal{What: r.What(), Count: r.Count, By: r.By, Message: r.Message}
}

// About returns the object that is not as expected because of the refusal: the node of a heartbeat,
// the owner of an object that could not be created, or the object itself. ok is false for a request
// for several objects.
func (r *Refusal) About() (about reasons.About, ok bool) {
	if node, ok := r.heartbeatOf(); ok {
		return reasons.About{Kind: "Node", Name: node}, true
	}
	switch {
	case r.Controller != nil && r.Verb == "create":
		return reasons.About{Kind: r.Controller.Kind, Namespace: r.Namespace, Name: r.Controller.Name, UID: r.Controller.UID}, true
	case r.Name != "" && r.Kind != "":
		return reasons.About{Kind: r.Kind, Namespace: r.Namespace, Name: r.Name}, true
	}
	return reasons.About{}, false
}

// Reason returns About, and the refusal as explanations show it. ok is false if it explains nothing
// now: such a request has succeeded since.
func (r *Refusal) Reason() (about reasons.About, refusal reasons.Refusal, ok bool) {
	about, ok = r.About()
	return about, r.reason(), ok && r.Succeeded == nil
}

// regards reports whether the refused requests were for the object of a query, or concern it.
func (r *Refusal) regards(q *Query, object *Write) bool {
	if r.Name == q.Name && r.Namespace == q.Namespace && (q.Resource == r.Resource.Resource || q.Resource == "" && q.Kind == r.Kind) {
		return q.Group == "" || q.Group == r.Resource.Group
	}
	about, ok := r.About()
	if !ok || about.Name != q.Name {
		return false
	}
	if about.UID != "" {
		return about.UID == object.UID
	}
	return about.Kind == object.Kind && about.Namespace == object.Namespace
}

// line formats a refusal for people: what happened, when, and why.
func (r *Refusal) line(start time.Time) string {
	when := "at " + textOfTime(r.First, start)
	if r.Count > 1 {
		when = "from " + textOfTime(r.First, start) + " to " + textOfTime(r.Last, start)
	}
	text := fmt.Sprintf("%s, %s, by %s", r.Sentence(), when, r.Writer())
	if r.Message != "" {
		text += ": " + r.Message
	}
	if r.Succeeded != nil {
		text += "; such a request succeeded at " + textOfTime(*r.Succeeded, start)
	}
	return text
}
