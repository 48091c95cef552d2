// Command registry is a registry of OCI artifacts on the loopback, in memory.
//
//	registry ADDRESS FILE    serve FILE as the artifact tests/plugin:1 on ADDRESS, say under which digest its manifest is,
//	                         and end with the input
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

const (
	componentType types.MediaType = "application/wasm"
	configType    types.MediaType = "application/vnd.wasm.config.v0+json"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "registry:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	if len(args) != 2 {
		return fmt.Errorf("usage: registry ADDRESS FILE")
	}
	component, err := os.ReadFile(args[1])
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", args[0])
	if err != nil {
		return err
	}
	go http.Serve(listener, registry.New(registry.Logger(log.New(io.Discard, "", 0))))
	digest, err := push(args[0], component)
	if err != nil {
		return err
	}
	fmt.Println(digest)
	_, err = io.Copy(io.Discard, os.Stdin)
	return err
}

// push makes an artifact of one layer and gives the digest of its manifest.
func push(address string, component []byte) (string, error) {
	reference, err := name.ParseReference(address+"/tests/plugin:1", name.Insecure)
	if err != nil {
		return "", err
	}
	artifact := mutate.MediaType(empty.Image, types.OCIManifestSchema1)
	artifact = mutate.ConfigMediaType(artifact, configType)
	artifact, err = mutate.AppendLayers(artifact, static.NewLayer(component, componentType))
	if err != nil {
		return "", err
	}
	if err := remote.Write(reference, artifact); err != nil {
		return "", err
	}
	digest, err := artifact.Digest()
	return digest.String(), err
}
