// Package report shows what happened in a run: as text, as JUnit XML for CI, and as one HTML
// page that needs no other file. Everything it shows comes from a runrecord.Run, so that a
// saved run can be shown again.
package report
