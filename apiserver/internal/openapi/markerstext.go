package openapi

// MarkersText returns the table of the API types' marker comments; markers.go describes
// its format.
func MarkersText() string { return markersText }
