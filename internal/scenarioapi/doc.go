// Package scenarioapi runs scenarios in a running cluster on request, at /minikcm/v1/scenarios:
// shipped ones, which are listed with the reasons why they cannot run here, and ones in a request.
// One runs at a time, by the cluster's clock. Its steps, notes and checks can be followed, and it
// has a report at its end. Closing the cluster ends it.
package scenarioapi
