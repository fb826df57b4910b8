import{r as e,t}from"./chunk-QB3YPZ4I-BScZ-v0k.js";import"./chunk-TU62E6Q5-A3QcUOqo.js";import"./diagram-RM6s5ICS.js";import"./chunk-HFQBQIA3-DbFJdiyW.js";import"./chunk-LEVMRMFU-B-J9KKY4.js";import"./chunk-AXFCVDMN-WbzjJwFJ.js";import"./chunk-X4PVCEUW-CP7kzloj.js";import"./chunk-STOXU5M4-CmrfiL1s.js";import"./chunk-R3KSYZAL-Rb8LsZt8.js";import"./chunk-6MUBBAK2-D_rSYPtZ.js";import"./chunk-BG4553SI-B5_3MxfG.js";import"./d3-selection-COWvaQNI.js";import{n}from"./chunk-Y2CYZVJY-DsF7k-Jl.js";var r=t({styles:n(t=>`${e(t)}
  .swimlane.cluster:not([data-color-id]) rect {
    stroke: ${t.clusterBorder} !important;
  }
  [data-look="neo"].cluster rect {
    filter: none;
  }
`,`getStyles`)});export{r as diagram};