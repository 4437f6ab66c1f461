package gateways

// Features returns the names of what the router can do, as the Gateway API's conformance suite names it (GEP-2162), in the order of a
// status.
func Features() []Feature {
	names := []string{
		"Gateway",
		"GatewayAddressEmpty",
		"GatewayHTTPListenerIsolation",
		"GatewayHTTPSListenerDetectMisdirectedRequests",
		"GatewayInfrastructure",
		"GatewayPort8080",
		"HTTPRoute",
		"HTTPRoute303RedirectStatusCode",
		"HTTPRoute307RedirectStatusCode",
		"HTTPRoute308RedirectStatusCode",
		"HTTPRouteBackendProtocolH2C",
		"HTTPRouteBackendRequestHeaderModification",
		"HTTPRouteBackendTimeout",
		"HTTPRouteDestinationPortMatching",
		"HTTPRouteHostRewrite",
		"HTTPRouteMethodMatching",
		"HTTPRouteNamedRouteRule",
		"HTTPRouteParentRefPort",
		"HTTPRoutePathRedirect",
		"HTTPRoutePathRewrite",
		"HTTPRoutePortRedirect",
		"HTTPRouteQueryParamMatching",
		"HTTPRouteRequestMirror",
		"HTTPRouteRequestMultipleMirrors",
		"HTTPRouteRequestPercentageMirror",
		"HTTPRouteRequestTimeout",
		"HTTPRouteResponseHeaderModification",
		"HTTPRouteSchemeRedirect",
		"ReferenceGrant",
	}
	all := make([]Feature, len(names))
	for i, name := range names {
		all[i].Name = name
	}
	return all
}

// Feature is a feature in the status of a GatewayClass.
type Feature struct {
	Name string `json:"name"`
}
