// The official TypeScript SDK's client for the draft of version 2 drives an agent on pipes.
//   ACP_SDK_DIR=…/node_modules node drive_v2.mjs COMMAND [ARGS…]
import { spawn } from "node:child_process";
import path from "node:path";
import { Readable, Writable } from "node:stream";
import { pathToFileURL } from "node:url";

const sdk = path.join(process.env.ACP_SDK_DIR, "@agentclientprotocol/sdk/dist/v2/stable/acp.js");
const acp = await import(pathToFileURL(sdk).href);
const need = (holds, what) => { if (!holds) throw new Error(what); };
const updates = [];
let idle = () => {};
let asked = 0;
const text = () => updates.filter((u) => u.sessionUpdate === "agent_message_chunk").map((u) => u.content.text).join("");

const app = acp.client({ name: "draft" })
  .onNotification(acp.methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    if (params.update.sessionUpdate === "state_update" && params.update.state === "idle") idle(params.update);
  })
  .onRequest(acp.methods.client.session.requestPermission, ({ params }) => {
    asked += 1;
    need(params.title && params.subject.type === "tool_call", "no title or subject");
    return { outcome: { outcome: "selected", optionId: params.options.find((o) => o.kind === "allow_once").optionId } };
  });

const child = spawn(process.argv[2], process.argv.slice(3), { stdio: ["pipe", "pipe", "inherit"] });
const stream = acp.ndJsonStream(Writable.toWeb(child.stdin), Readable.toWeb(child.stdout));
try {
  await app.connectWith(stream, async (ctx) => {
    const agent = acp.methods.agent;
    const init = await ctx.request(agent.initialize, { protocolVersion: 2, info: { name: "draft", version: "1" }, capabilities: {} });
    need(init.protocolVersion === 2, `version ${init.protocolVersion}`);
    const { sessionId } = await ctx.request(agent.session.new, { cwd: process.cwd() });
    const turn = async (words) => {
      updates.length = 0;
      const end = new Promise((resolve) => { idle = resolve; });
      const answer = await ctx.request(agent.session.prompt, { sessionId, prompt: [{ type: "text", text: words }] });
      need(answer.messageId, "no message id");
      return end;
    };
    need((await turn("STREAM please")).stopReason === "end_turn", "stop reason");
    need(text().includes("Hello from the scripted agent."), text());
    await turn("PERMISSION please");
    need(asked === 1 && text().includes("allowed"), `asked ${asked}: ${text()}`);
    await turn("PLAN please");
    need(updates.some((u) => u.sessionUpdate === "plan_update"), "no plan");
    const failed = await turn("ERROR please");
    need(failed.stopReason === "error" && failed.error.message.includes("model backend failed"), JSON.stringify(failed));
    updates.length = 0;
    await ctx.request(agent.session.resume, { sessionId, cwd: process.cwd(), replayFrom: { type: "start" } });
    need(text().includes("Hello from the scripted agent."), "no replay");
  });
  console.log("PASS draft of version 2");
} catch (error) {
  console.log(`FAIL draft of version 2: ${error.message} ${JSON.stringify(error.data ?? "")}`);
  process.exitCode = 1;
} finally {
  child.kill();
}
