// Command release makes the files that a release has besides the programs: before goreleaser runs,
//
//	release prepare -root ROOT -minikcm PROGRAM -out FOLDER -time SECONDS
//
// writes the completion scripts, the man pages and the licences of all that is linked; after it,
//
//	release package -root ROOT -dist DIST -version VERSION -url URL -time SECONDS
//
// makes, of the archives in DIST, the Homebrew formula, the manifests for Scoop and Krew, the npm
// packages and the container image. Equal inputs give equal bytes. Nothing is sent anywhere.
package main
