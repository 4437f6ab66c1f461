// Package ownobjects writes the objects that every cluster has: the objects that the API server
// creates without a request, the default roles and bindings, and the FlowSchemas and priority levels.
package ownobjects
