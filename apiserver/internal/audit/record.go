package audit

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	upstream "k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"minikcm.dev/minikcm/internal/auth"
)

// Record is the record of one request. A nil Record records nothing.
type Record struct {
	auditor *Auditor
	event   *upstream.AuditContext
	rule    upstream.RequestAuditConfig
	// longRunning reports that the start of the response is a stage.
	longRunning bool
	// refused reports that the user is unknown, so that the only stage is the start of the
	// response.
	refused bool
}

// Request holds the facts about a request that are known when its record begins.
type Request struct {
	HTTP *http.Request
	// ID is the Audit-ID.
	ID string
	// Attributes have the authenticated user, not an impersonated one. The user is nil if
	// authentication failed.
	Attributes  auth.Attributes
	LongRunning bool
}

// errNotRecorded is the error of a request that may not be served because its event was not
// recorded.
var errNotRecorded = errors.New("failed to store audit event")

// Begin evaluates the policy for a request and records its arrival. The request is served
// with the returned request and writer, whose context carries the record, and the caller
// defers the record's End. The record is nil for a request that is not audited. An error
// means that the request must not be served.
func (a *Auditor) Begin(w http.ResponseWriter, in Request) (*Record, http.ResponseWriter, *http.Request, error) {
	attributes := attributesOf(&in.Attributes)
	rule := a.policy.EvaluatePolicyRule(attributes)
	upstream.ObservePolicyLevel(in.HTTP.Context(), rule.Level)
	if rule.Level == auditinternal.LevelNone {
		return nil, w, unrecorded(in.HTTP), nil
	}
	rec := &Record{auditor: a, rule: rule, longRunning: in.LongRunning, refused: in.Attributes.User == nil}
	own := upstream.WithAuditContext(context.Background())
	rec.event = upstream.AuditContextFrom(own)
	upstream.WithAuditID(own, types.UID(in.ID))
	if err := rec.event.Init(rule, a); err != nil {
		return nil, w, in.HTTP, fmt.Errorf("beginning an audit event: %w", err)
	}
	upstream.LogRequestMetadata(own, in.HTTP, a.clock.Now(), attributes)
	if !rec.refused && !rec.stage(auditinternal.StageRequestReceived) {
		upstream.ApiserverAuditDroppedCounter.Inc()
		return nil, w, in.HTTP, errNotRecorded
	}
	ctx := &recordContext{Context: in.HTTP.Context(), own: own.Value, record: rec}
	return rec, newWriter(w, rec), in.HTTP.WithContext(ctx), nil
}

// stage sends the event in its present state.
func (rec *Record) stage(stage auditinternal.Stage) bool {
	return rec.event.ProcessEventStage(context.Background(), stage) // the context is for metrics
}

// End records the end of the response, or that its handler panicked. It must be deferred
// directly, because it calls recover; it panics again.
func (rec *Record) End() {
	if rec == nil {
		return
	}
	if reason := recover(); reason != nil {
		rec.event.SetEventResponseStatus(&metav1.Status{
			Code: http.StatusInternalServerError, Status: metav1.StatusFailure, Reason: metav1.StatusReasonInternalError,
			Message: fmt.Sprintf("APIServer panic'd: %v", reason),
		})
		rec.stage(auditinternal.StagePanic)
		panic(reason)
	}
	if rec.refused {
		return
	}
	if rec.event.GetEventResponseStatus() == nil {
		rec.event.SetEventResponseStatus(&metav1.Status{Code: http.StatusOK, Status: metav1.StatusSuccess, Message: "Connection closed early"})
		if rec.longRunning {
			rec.stage(auditinternal.StageResponseStarted)
		}
	}
	rec.stage(auditinternal.StageResponseComplete)
}

// answered records the status code of the response, at its first byte.
func (rec *Record) answered(code int) {
	rec.event.SetEventResponseStatusCode(int32(code))
	if rec.longRunning || rec.refused {
		rec.stage(auditinternal.StageResponseStarted)
	}
}

// Impersonates records that the request acts as another user. constraint is the verb that
// allowed it, empty for the older rule.
func (rec *Record) Impersonates(u *auth.User, constraint string) {
	if rec != nil {
		rec.event.LogImpersonatedUser(infoOf(u), constraint)
	}
}

// Annotate adds annotations, given as keys and values, to the events of the request whose
// context is ctx. The first value of a key stays.
func (rec *Record) Annotate(ctx context.Context, keysAndValues ...string) {
	if rec != nil {
		upstream.AddAuditAnnotations(ctx, keysAndValues...)
	}
}

type recordKey struct{}

// From returns the record of the request whose context is ctx; nil if it is not audited.
func From(ctx context.Context) *Record {
	rec, _ := ctx.Value(recordKey{}).(*Record)
	return rec
}

// recordContext is the context of an audited request. It hides the record of an outer
// request, in whose handler a client in this process makes this one: upstream's library has
// no other way to begin a second event beneath the first.
type recordContext struct {
	context.Context //verify:allow it is a context
	// own has nothing but upstream's AuditContext.
	own    func(key any) any
	record *Record
}

func (c *recordContext) Value(key any) any {
	if key == (recordKey{}) {
		return c.record
	}
	if found := c.own(key); found != nil {
		return found
	}
	return c.Context.Value(key)
}

// unrecorded returns a request that is not audited, although an outer one may be.
func unrecorded(r *http.Request) *http.Request {
	if upstream.AuditContextFrom(r.Context()) == nil {
		return r
	}
	own := upstream.WithAuditContext(context.Background())
	// The level is None, so that nothing is recorded and annotations are dropped. A new
	// AuditContext accepts its first Init.
	_ = upstream.AuditContextFrom(own).Init(upstream.RequestAuditConfig{Level: auditinternal.LevelNone}, nil)
	return r.WithContext(&recordContext{Context: r.Context(), own: own.Value})
}

// attributesOf returns upstream's form of the attributes.
func attributesOf(a *auth.Attributes) authorizer.Attributes {
	record := authorizer.AttributesRecord{
		Verb: a.Verb, ResourceRequest: a.Resource, APIGroup: a.Group, APIVersion: a.Version, Resource: a.Plural,
		Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name, Path: a.Path,
	}
	if a.User != nil {
		record.User = infoOf(a.User)
	}
	return record
}

func infoOf(u *auth.User) user.Info {
	return &user.DefaultInfo{Name: u.Name, UID: u.UID, Groups: u.Groups, Extra: u.Extra}
}
