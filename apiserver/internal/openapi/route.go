package openapi

import (
	"net/http"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/common"
)

// Extensions of an operation, by which kubectl finds it.
const (
	extAction = "x-kubernetes-action"
	extKind   = "x-kubernetes-group-version-kind"
)

// route is one operation, in the form that kube-openapi's builders require.
type route struct {
	method, path    string
	id, description string
	tag             string
	action          string
	kind            schema.GroupVersionKind
	parameters      []common.Parameter
	consumes        []string
	produces        []string
	// body and reply are empty objects of the request's and the response's type; body
	// may be nil.
	body, reply any
	codes       []int
}

var (
	_ common.Route          = (*route)(nil)
	_ common.RouteContainer = routes(nil)
)

func (r *route) Method() string                 { return r.method }
func (r *route) Path() string                   { return r.path }
func (r *route) OperationName() string          { return r.id }
func (r *route) Parameters() []common.Parameter { return r.parameters }
func (r *route) Description() string            { return r.description }
func (r *route) Consumes() []string             { return r.consumes }
func (r *route) Produces() []string             { return r.produces }
func (r *route) RequestPayloadSample() any      { return r.body }
func (r *route) ResponsePayloadSample() any     { return r.reply }

// Metadata returns the extensions.
func (r *route) Metadata() map[string]any {
	if r.action == "" {
		return nil
	}
	return map[string]any{
		extAction: r.action,
		extKind:   metav1.GroupVersionKind{Group: r.kind.Group, Version: r.kind.Version, Kind: r.kind.Kind},
	}
}

// StatusCodeResponses returns the responses of a success; errors are common to all
// routes.
func (r *route) StatusCodeResponses() []common.StatusCodeResponse {
	all := make([]common.StatusCodeResponse, len(r.codes))
	for i, code := range r.codes {
		all[i] = response{code: code, model: r.reply}
	}
	return all
}

type response struct {
	code  int
	model any
}

func (r response) Code() int       { return r.code }
func (r response) Message() string { return http.StatusText(r.code) }
func (r response) Model() any      { return r.model }

// routes are all operations of one document.
type routes []*route

func (routes) RootPath() string                   { return "" }
func (routes) PathParameters() []common.Parameter { return nil }

func (rs routes) Routes() []common.Route {
	all := make([]common.Route, len(rs))
	for i, r := range rs {
		all[i] = r
	}
	return all
}

type parameter struct {
	name, description string
	kind              common.ParameterKind
	dataType          string
	required          bool
}

func (p parameter) Name() string               { return p.name }
func (p parameter) Description() string        { return p.description }
func (p parameter) Required() bool             { return p.required }
func (p parameter) Kind() common.ParameterKind { return p.kind }
func (p parameter) DataType() string           { return p.dataType }
func (p parameter) AllowMultiple() bool        { return false }

func pathParameter(name, description string) common.Parameter {
	return parameter{name: name, description: description, kind: common.PathParameterKind, dataType: "string", required: true}
}

func bodyParameter(required bool) common.Parameter {
	return parameter{name: "body", kind: common.BodyParameterKind, required: required}
}

// queryParameters returns the fields of an options struct that a URL can hold, except
// those named.
func queryParameters(options any, except ...string) []common.Parameter {
	t := reflect.TypeOf(options)
	doc := swaggerDoc(t)
	var all []common.Parameter
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, inline := jsonTag(f)
		dataType := queryType(f.Type)
		if inline || name == "" || dataType == "" || slices.Contains(except, name) {
			continue
		}
		all = append(all, parameter{name: name, description: doc[name], kind: common.QueryParameterKind, dataType: dataType})
	}
	return all
}

func queryType(t reflect.Type) string {
	switch plain := indirect(t); plain.Kind() {
	case reflect.Slice:
		return queryType(plain.Elem())
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int32, reflect.Int64, reflect.Int:
		return "integer"
	}
	return ""
}
