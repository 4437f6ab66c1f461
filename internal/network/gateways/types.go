package gateways

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The API group and its kinds.
const (
	Group           = "gateway.networking.k8s.io"
	ClassKind       = "GatewayClass"
	GatewayKind     = "Gateway"
	RouteKind       = "HTTPRoute"
	GrantKind       = "ReferenceGrant"
	ClassResource   = "gatewayclasses"
	GatewayResource = "gateways"
	RouteResource   = "httproutes"
	GrantResource   = "referencegrants"
	serviceKind     = "Service"
	secretKind      = "Secret"
	defaultWeight   = 1
	hundred         = 100
	fullPathChange  = "ReplaceFullPath"
)

// Class is a GatewayClass.
type Class struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ControllerName string `json:"controllerName"`
		ParametersRef  *struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"parametersRef,omitempty"`
	} `json:"spec"`
	Status struct {
		Conditions        []metav1.Condition `json:"conditions,omitempty"`
		SupportedFeatures []Feature          `json:"supportedFeatures,omitempty"`
	} `json:"status"`
}

// Gateway is a Gateway.
type Gateway struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		GatewayClassName string     `json:"gatewayClassName"`
		Listeners        []Listener `json:"listeners"`
		Addresses        []Address  `json:"addresses,omitempty"`
		Infrastructure   *struct {
			Labels      map[string]string `json:"labels,omitempty"`
			Annotations map[string]string `json:"annotations,omitempty"`
			// ParametersRef names parameters, of which the controller has none.
			ParametersRef *Reference `json:"parametersRef,omitempty"`
		} `json:"infrastructure,omitempty"`
	} `json:"spec"`
	Status GatewayStatus `json:"status"`
}

// GatewayStatus is the status of a Gateway.
type GatewayStatus struct {
	Addresses  []Address          `json:"addresses,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	Listeners  []ListenerStatus   `json:"listeners,omitempty"`
}

// Address is an address of a Gateway.
type Address struct {
	Type  *string `json:"type,omitempty"`
	Value string  `json:"value,omitempty"`
}

// Listener is a listener of a Gateway.
type Listener struct {
	Name     string  `json:"name"`
	Hostname *string `json:"hostname,omitempty"`
	Port     int32   `json:"port"`
	Protocol string  `json:"protocol"`
	TLS      *struct {
		Mode            *string     `json:"mode,omitempty"`
		CertificateRefs []Reference `json:"certificateRefs,omitempty"`
	} `json:"tls,omitempty"`
	AllowedRoutes *struct {
		Namespaces *struct {
			From     *string               `json:"from,omitempty"`
			Selector *metav1.LabelSelector `json:"selector,omitempty"`
		} `json:"namespaces,omitempty"`
		Kinds []GroupKind `json:"kinds,omitempty"`
	} `json:"allowedRoutes,omitempty"`
}

// GroupKind names a kind of routes.
type GroupKind struct {
	Group *string `json:"group,omitempty"`
	Kind  string  `json:"kind"`
}

// ListenerStatus is the status of a listener.
type ListenerStatus struct {
	Name           string             `json:"name"`
	SupportedKinds []GroupKind        `json:"supportedKinds"`
	AttachedRoutes int32              `json:"attachedRoutes"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// Reference is a reference to an object.
type Reference struct {
	Group     *string `json:"group,omitempty"`
	Kind      *string `json:"kind,omitempty"`
	Namespace *string `json:"namespace,omitempty"`
	Name      string  `json:"name"`
	Port      *int32  `json:"port,omitempty"`
}

// ParentReference is a route's reference to a Gateway.
type ParentReference struct {
	Group       *string `json:"group,omitempty"`
	Kind        *string `json:"kind,omitempty"`
	Namespace   *string `json:"namespace,omitempty"`
	Name        string  `json:"name"`
	SectionName *string `json:"sectionName,omitempty"`
	Port        *int32  `json:"port,omitempty"`
}

// ParentStatus is the status of a route at a Gateway.
type ParentStatus struct {
	ParentRef      ParentReference    `json:"parentRef"`
	ControllerName string             `json:"controllerName"`
	Conditions     []metav1.Condition `json:"conditions"`
}

// Route is an HTTPRoute.
type Route struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		ParentRefs []ParentReference `json:"parentRefs,omitempty"`
		Hostnames  []string          `json:"hostnames,omitempty"`
		Rules      []RouteRule       `json:"rules,omitempty"`
	} `json:"spec"`
	Status struct {
		Parents []ParentStatus `json:"parents"`
	} `json:"status"`
}

// RouteRule is a rule of an HTTPRoute.
type RouteRule struct {
	Matches     []Match      `json:"matches,omitempty"`
	Filters     []Filter     `json:"filters,omitempty"`
	BackendRefs []BackendRef `json:"backendRefs,omitempty"`
	Timeouts    *struct {
		Request        *string `json:"request,omitempty"`
		BackendRequest *string `json:"backendRequest,omitempty"`
	} `json:"timeouts,omitempty"`
	Retry *struct {
		Codes    []int   `json:"codes,omitempty"`
		Attempts *int    `json:"attempts,omitempty"`
		Backoff  *string `json:"backoff,omitempty"`
	} `json:"retry,omitempty"`
}

// Match is a match of a rule.
type Match struct {
	Path        *TypedValue  `json:"path,omitempty"`
	Headers     []NamedValue `json:"headers,omitempty"`
	QueryParams []NamedValue `json:"queryParams,omitempty"`
	Method      *string      `json:"method,omitempty"`
}

// TypedValue is a value to compare.
type TypedValue struct {
	Type  *string `json:"type,omitempty"`
	Value *string `json:"value,omitempty"`
}

// NamedValue is a header or a parameter.
type NamedValue struct {
	Type  *string `json:"type,omitempty"`
	Name  string  `json:"name"`
	Value string  `json:"value"`
}

// BackendRef is a backend with its weight and filters.
type BackendRef struct {
	Reference `json:",inline"`
	Weight    *int32   `json:"weight,omitempty"`
	Filters   []Filter `json:"filters,omitempty"`
}

// Filter is a filter of a rule or of a backend.
type Filter struct {
	Type                   string         `json:"type"`
	RequestHeaderModifier  *HeaderChanges `json:"requestHeaderModifier,omitempty"`
	ResponseHeaderModifier *HeaderChanges `json:"responseHeaderModifier,omitempty"`
	RequestMirror          *struct {
		BackendRef Reference `json:"backendRef"`
		Percent    *int32    `json:"percent,omitempty"`
		Fraction   *struct {
			Numerator   int32  `json:"numerator"`
			Denominator *int32 `json:"denominator,omitempty"`
		} `json:"fraction,omitempty"`
	} `json:"requestMirror,omitempty"`
	RequestRedirect *struct {
		Scheme     *string       `json:"scheme,omitempty"`
		Hostname   *string       `json:"hostname,omitempty"`
		Path       *PathModifier `json:"path,omitempty"`
		Port       *int32        `json:"port,omitempty"`
		StatusCode *int          `json:"statusCode,omitempty"`
	} `json:"requestRedirect,omitempty"`
	URLRewrite *struct {
		Hostname *string       `json:"hostname,omitempty"`
		Path     *PathModifier `json:"path,omitempty"`
	} `json:"urlRewrite,omitempty"`
}

// HeaderChanges are the changes of a header filter.
type HeaderChanges struct {
	Set    []NamedValue `json:"set,omitempty"`
	Add    []NamedValue `json:"add,omitempty"`
	Remove []string     `json:"remove,omitempty"`
}

// PathModifier changes a path.
type PathModifier struct {
	Type               string  `json:"type"`
	ReplaceFullPath    *string `json:"replaceFullPath,omitempty"`
	ReplacePrefixMatch *string `json:"replacePrefixMatch,omitempty"`
}

// Grant is a ReferenceGrant.
type Grant struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		From []struct {
			Group     string `json:"group"`
			Kind      string `json:"kind"`
			Namespace string `json:"namespace"`
		} `json:"from"`
		To []struct {
			Group string  `json:"group"`
			Kind  string  `json:"kind"`
			Name  *string `json:"name,omitempty"`
		} `json:"to"`
	} `json:"spec"`
}
