// Package stagerunner plays kwok's Stages (package stages). It watches the Stages of the API once
// kwok's CustomResourceDefinition is installed, and the objects of the kinds that they name. For an
// object, one worker at a time chooses a Stage, waits for its delay on the cluster's clock, and
// makes its writes as an API client. A change of the object begins the choice anew. Chance comes
// from a source for each object, so that a seed gives the same result whatever the order of
// events. An invalid Stage has no effect but a Warning event.
package stagerunner
