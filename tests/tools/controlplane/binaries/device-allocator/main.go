// Command device-allocator asks the allocator of kube-scheduler which devices it would give to
// claims on a node, and its CEL which devices a selector matches. It reads one question a line, as
// JSON, and writes one answer a line.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
	"k8s.io/utils/ptr"
)

// features are those that are on by default in Kubernetes 1.37.
var features = structured.Features{
	AdminAccess:             true,
	ConsumableCapacity:      true,
	DeviceBindingAndStatus:  true,
	DeviceTaints:            true,
	FractionalCapacityRange: true,
	PartitionableDevices:    true,
	PrioritizedList:         true,
}

// question is a line of input: an expression and devices, or a world and claims.
type question struct {
	Expression *string           `json:"expression"`
	Devices    []describedDevice `json:"devices"`

	Node      v1.Node                      `json:"node"`
	Classes   classes                      `json:"classes"`
	Slices    []*resourceapi.ResourceSlice `json:"slices"`
	Allocated []*resourceapi.ResourceClaim `json:"allocated"`
	Claims    []*resourceapi.ResourceClaim `json:"claims"`
	Seconds   float64                      `json:"seconds"`
}

type describedDevice struct {
	Driver string             `json:"driver"`
	Device resourceapi.Device `json:"device"`
}

// answer is a line of output.
type answer struct {
	Error       string                         `json:"error,omitempty"`
	TimedOut    bool                           `json:"timedOut,omitempty"`
	Allocations []resourceapi.AllocationResult `json:"allocations,omitempty"`
	Matches     []match                        `json:"matches,omitempty"`
}

type match struct {
	Value bool   `json:"value"`
	Error string `json:"error,omitempty"`
}

type classes []*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) { return c, nil }

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("device class %s not found", name)
}

// taken is what the plugin DynamicResources gathers from allocated claims.
func taken(claims []*resourceapi.ResourceClaim) structured.AllocatedState {
	state := structured.AllocatedState{
		AllocatedDevices:         sets.New[structured.DeviceID](),
		AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity:       structured.NewConsumedCapacityCollection(),
	}
	for _, claim := range claims {
		if claim.Status.Allocation == nil {
			continue
		}
		for _, result := range claim.Status.Allocation.Devices.Results {
			id := structured.MakeDeviceID(result.Driver, result.Pool, result.Device)
			switch {
			case ptr.Deref(result.AdminAccess, false):
			case result.ShareID == nil:
				state.AllocatedDevices.Insert(id)
			default:
				state.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, result.ShareID))
				if result.ConsumedCapacity != nil {
					state.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, result.ConsumedCapacity))
				}
			}
		}
	}
	return state
}

func allocate(q question) answer {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(q.Seconds*float64(time.Second)))
	defer cancel()
	cache := cel.NewCache(10, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(ctx, features, taken(q.Allocated), q.Classes, q.Slices, cache)
	if err != nil {
		return answer{Error: err.Error()}
	}
	found, err := allocator.Allocate(ctx, &q.Node, q.Claims)
	if err != nil {
		return answer{Error: err.Error(), TimedOut: ctx.Err() != nil}
	}
	return answer{Allocations: found}
}

func evaluate(q question) answer {
	compiler := cel.GetCompiler(cel.Features{EnableConsumableCapacity: true})
	compiled := compiler.CompileCELExpression(*q.Expression, cel.Options{})
	if compiled.Error != nil {
		return answer{Error: compiled.Error.Detail}
	}
	var matches []match
	for _, each := range q.Devices {
		matched, _, err := compiled.DeviceMatches(context.Background(), cel.Device{
			Driver:                   each.Driver,
			AllowMultipleAllocations: each.Device.AllowMultipleAllocations,
			Attributes:               each.Device.Attributes,
			Capacity:                 each.Device.Capacity,
		})
		one := match{Value: matched}
		if err != nil {
			one.Error = err.Error()
		}
		matches = append(matches, one)
	}
	return answer{Matches: matches}
}

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 64<<20)
	answers := json.NewEncoder(os.Stdout)
	for lines.Scan() {
		var asked question
		told := answer{}
		if err := json.Unmarshal(lines.Bytes(), &asked); err != nil {
			told.Error = "unreadable question: " + err.Error()
		} else if asked.Expression != nil {
			told = evaluate(asked)
		} else {
			told = allocate(asked)
		}
		if err := answers.Encode(told); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}
