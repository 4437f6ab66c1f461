// Package report shows what happened in a run: as text, as JUnit XML for CI, and as
// one HTML page that needs nothing beside itself. Whatever it shows comes from a
// record.Run, so that a saved run can be shown again.
package report
